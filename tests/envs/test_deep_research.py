"""DeepResearcher, ASearcher and SynPlanResearch-R1: what their tools share, forks, and what a chat endpoint is told."""

import json
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.agents.scripted import Oracle
from toolenvs.env import ToolEnv
from toolenvs.episode import Episode
from toolenvs.errors import ForkError, PageError
from toolenvs.rollout import collect
from toolenvs.tools import page_crawl

PAGES = ("DeepResearcher-v0", "ASearcherLocal-v0", "ASearcherWeb-v0", "SynPlanResearch-v0")
NAME, URL = "The Silent Staircase of Vlerereth", "https://world.test/works/167.html"


def call(name: str, **arguments: Any) -> str:
    return f"<think>x</think><tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@pytest.mark.parametrize("page", PAGES)
def test_searching_leads_to_every_answer(page: str) -> None:
    blueprint = toolenvs.load(page)
    tasks = [blueprint.tasks[index] for index in range(60)]
    episodes = loop.run(collect(blueprint, Oracle(blueprint), tasks))
    assert [episode.success for episode in episodes] == [1.0] * 60


@pytest.mark.parametrize("page", PAGES)
def test_questions_and_pages_are_of_one_world(page: str) -> None:
    with pytest.raises(PageError, match="is not the world of the tasks; set it to 'sites/world:200:0'"):
        toolenvs.load(page, passages=200)


def test_another_world_and_the_live_web() -> None:
    own = {"tools.page_search.site": "sites/world:200:3", "tools.page_access.site": "sites/world:200:3"}
    toolenvs.load("ASearcherLocal-v0", **own, passages=200, **{"tasks.world": 3})
    with pytest.raises(PageError, match="tools.page_search: the live web has no search of its own"):
        toolenvs.load("ASearcherWeb-v0", **{"tools.page_search.site": "live"})
    live = {"site": "live", "allow": ["*.wikipedia.org"], "deny": ["*.wikipedia.org/answers"]}
    search = {**live, "index": "http://127.0.0.1:9#asearcher"}
    blueprint = toolenvs.load("ASearcherWeb-v0", tools={"page_search": search, "page_access": live})
    episode = Episode(blueprint, blueprint.tasks[0])
    turn = loop.run(episode.step("</think><access>http://10.0.0.1/</access>"))
    assert turn.calls[0].status == "blocked"
    loop.run(episode.close())


def test_a_fork_in_the_middle_of_reading_goes_on_alike() -> None:
    env = ToolEnv("ASearcherLocal-v0", piece_chars=120)
    env.reset(seed=0)
    env.step(f"</think><access>{URL}</access>")
    env.step("one</think>")
    [copy] = env.fork()
    ends = []
    for one in (env, copy):
        assert one.episode is not None
        assert one.episode.reading
        texts = []
        while one.episode.reading:
            texts.append(one.step("on</think>")[0])
        assert [">>>> Page" in text for text in texts] == [True, True, False]
        ends.append((texts, one.step("<answer>x</answer>")[4]["transcript"]))
        one.close()
    assert ends[0] == ends[1]


def test_what_is_read_next_and_what_was_forgotten() -> None:
    env = ToolEnv("ASearcherLocal-v0", piece_chars=120, kept_chars=10)
    _, info = env.reset(seed=0)
    assert info["stop"] == ("</search>", "</access>", "</answer>")
    first, *_, info = env.step(f"</think><access>{URL}</access>")
    assert info["stop"] == ("</think>",)
    piece = first.partition("<information>\n")[2].partition("\n</information>")[0]
    assert piece in info["messages"][-1]["content"]
    *_, info = env.step("noted</think>")
    assert piece not in info["messages"][-1]["content"]
    assert piece[:28] + "..." in info["messages"][-1]["content"]
    assert piece in info["transcript"].text  # nothing is lost
    env.close()


def test_the_last_generation_of_a_page_that_grants_one_is_for_the_answer() -> None:
    env = ToolEnv("ASearcherLocal-v0", max_turns=2, when_spent="last_turn", guess_share=0.0)
    env.reset(seed=0, options={"task": 0})
    assert env.episode is not None
    env.step(f"</think><access>{URL}</access>")
    *_, info = env.step("noted</think>")
    assert "</answer>" in info["stop"]
    _, reward, terminated, *_ = env.step(f"<answer>{env.episode.task.gold}</answer>")
    assert (reward, terminated) == (1.0, True)


def test_forked_readers_look_at_their_own_search() -> None:
    env = ToolEnv("DeepResearcher-v0", topk=1)
    env.reset(seed=0)
    env.step("x</think>" + call("web_search", query=[NAME]).partition("</think>")[2])
    [copy] = env.fork()
    copy.step("x</think>" + call("web_search", query=["Fedruvash"]).partition("</think>")[2])
    read = "x</think>" + call("browse_webpage", url_list=[URL]).partition("</think>")[2]
    assert [one.step(read)[4]["calls"][0].status for one in (env, copy)] == ["ok", "not_searched"]
    assert env.fork()[0].step(read)[4]["calls"][0].status == "ok"
    for one in (env, copy):
        one.close()


def test_a_reader_that_cannot_be_copied_runs_its_calls_again_beside_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: page_crawl.Session) -> page_crawl.Session:
        raise ForkError("a real browser")

    monkeypatch.setattr(page_crawl.Session, "fork", refuse)
    env = ToolEnv("SynPlanResearch-v0", topk=1, window_chars=90, head_chars=30)
    env.reset(seed=0)
    env.step(call("web_search", query=NAME))
    text = env.step(call("crawl_webpage", url=URL))[0]
    with pytest.warns(UserWarning, match="its calls are run again"):
        [copy] = env.fork()
    assert copy.step(call("crawl_webpage", url=URL))[0] == text
    assert "is a ballad" in text
    for one in (env, copy):
        one.close()


def test_a_chat_endpoint_goes_on_from_the_forced_beginning() -> None:
    env = ToolEnv("DeepResearcher-v0", topk=1, text_chars=20)
    text, info = env.reset(seed=0)
    assert text.endswith("<|im_start|>assistant\n<think>")
    assert info["messages"][-1] == {"role": "assistant", "content": "<think>"}
    text, *_, info = env.step("I look.</think>" + call("web_search", query=[NAME]).partition("</think>")[2])
    assert text.endswith("<|im_start|>assistant\n<think>")
    roles = [message["role"] for message in info["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert info["messages"][2]["content"].startswith("<think>I look.</think><tool_call>")
    assert info["messages"][-1] == {"role": "assistant", "content": "<think>"}
    env.close()


def test_functions_are_described_by_the_names_that_the_policy_writes() -> None:
    for page, names in (
        ("DeepResearcher-v0", ("web_search", "browse_webpage")),
        ("SynPlanResearch-v0", ("web_search", "crawl_webpage")),
    ):
        prompt = toolenvs.load(page).render_prompt(toolenvs.load(page).tasks[0])
        described = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"type": "function"')]
        assert tuple(one["function"]["name"] for one in described) == names


def test_calls_are_counted_by_tool() -> None:
    env = ToolEnv("ASearcherLocal-v0", max_calls_per_tool={"page_access": 1}, when_spent="notice", topk=1)
    env.reset(seed=0)
    env.step(f"</think><access>{URL}</access>")
    env.step("noted</think>")
    text, *_, info = env.step(f"<access>{URL}</access>")
    assert (info["calls"][0].status, "No calls left" in text) == ("spent", True)
    assert info["budget"]["calls_page_access"].left == 0
    assert info["stop"] != ("</think>",)  # a note is no result to be read
    *_, info = env.step(f"<search>{NAME}</search>")
    assert info["calls"][0].status == "ok"
    env.close()


@pytest.mark.parametrize(
    ("turn", "called", "answer", "malformed"),
    [
        ('<tool_call>{"name": "web_search", "parameters": {"query": "x"}}</tool_call>', {"query": "x"}, None, False),
        ('<answer>a</answer><tool_call>{"name": "web_search"}</tool_call>', {}, None, False),
        ("<answer>a</answer><tool_call>", None, "a", False),
        ("<answer>a</answer><tool_call>x</tool_call>", None, None, True),
        ("<answer>a</answer> <answer>b</answer>", None, "b", False),
    ],
)
def test_a_call_goes_before_an_answer(turn: str, called: Any, answer: str | None, malformed: bool) -> None:
    reply = toolenvs.load("SynPlanResearch-v0").protocol.parse(turn)
    assert [dict(one.arguments) for one in reply.calls] == ([] if called is None else [called])
    assert (reply.answer, reply.malformed is not None) == (answer, malformed)


@pytest.mark.parametrize(
    ("turn", "answer"),
    [
        ("<answer>a</answer> <answer>b</answer>", "a"),
        ("<answer>a", None),
        ("a</answer>", None),
        ("<answer></answer>", ""),
    ],
)
def test_the_first_answer_counts_where_the_page_says_so(turn: str, answer: str | None) -> None:
    assert toolenvs.load("DeepResearcher-v0").protocol.parse(turn).answer == answer
