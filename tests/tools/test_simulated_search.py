"""The simulated search engine: when it is noisy, what is useful, and what a model behind it is asked."""

from typing import Any

import pytest

import toolenvs
from toolenvs import loop, schema
from toolenvs.env import ToolEnv
from toolenvs.errors import EngineError, PageError, ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools.simulated_search import Options, Tool

TASK = toolenvs.load("ZeroSearch-v0").tasks[0]


def ask(options: dict[str, Any], query: Any, *, task: Task = TASK, seed: int = 0, progress: float = 0.0) -> Any:
    async def run() -> Any:
        session = await Tool(schema.read(Options, options, "test")).open(task, seed=seed, progress=progress)
        return await session.call({"query": query})

    return loop.run(run())


@pytest.mark.parametrize(
    ("start", "end", "base", "progress", "noise"),
    [
        (0.0, 0.5, 4.0, 0.0, 0.0),
        (0.0, 0.5, 4.0, 1.0, 0.5),
        (0.0, 0.5, 4.0, 0.5, 1 / 6),  # (2 - 1) / 3 of 0.5
        (0.25, 0.5, 4.0, 0.5, 1 / 3),
        (0.25, 0.75, 1.0, 0.5, 0.5),  # a straight line
        (0.5, 0.5, 4.0, 0.3, 0.5),
        (1.0, 0.0, 16.0, 0.25, 1 - 1 / 15),
    ],
)
def test_schedule(start: float, end: float, base: float, progress: float, noise: float) -> None:
    assert Options(start_noise=start, end_noise=end, base=base).noise(progress) == pytest.approx(noise)


def test_the_noise_follows_the_progress_of_the_episode() -> None:
    env = ToolEnv("ZeroSearch-v0", end_noise=1.0)
    name, answer = TASK.extra["queries"][-1], TASK.gold
    for progress, useful in ((0.0, True), (1.0, False)):
        for seed in range(5):
            env.reset(seed=seed, options={"task": TASK, "progress": progress})
            text, *_ = env.step(f"<search>{name}</search>")
            assert (answer in text) is useful
    env.close()


def test_half_of_the_queries_are_noisy_at_one_half() -> None:
    drawn = [ask({"start_noise": 0.5}, "town", seed=seed).data["useful"] for seed in range(400)]
    assert 160 < sum(drawn) < 240


def test_useful_documents_hold_the_evidence_and_noisy_ones_do_not() -> None:
    for index in range(20):
        task = toolenvs.load("ZeroSearch-v0").tasks[index]
        name = task.extra["queries"][-1]
        useful, noisy = ask({}, name, task=task).text, ask({"start_noise": 1.0}, name, task=task).text
        assert task.gold in useful
        assert task.gold not in noisy
        assert noisy.startswith("Doc 1: ")
        assert noisy.count("\nDoc ") == useful.count("\nDoc ") == 4
    assert task.gold not in ask({}, "zzzz", task=task).text  # what does not find it is not given it


def test_a_session_draws_anew_for_each_query_and_forks_draw_alike() -> None:
    async def run() -> list[list[bool]]:
        session = await Tool(Options(start_noise=0.5)).open(TASK, seed=3, progress=0.0)
        before = [(await session.call({"query": "town"})).data["useful"] for _ in range(20)]
        copy = await session.fork()
        after = [[(await one.call({"query": "town"})).data["useful"] for _ in range(20)] for one in (session, copy)]
        return [before, *after]

    before, after, copied = loop.run(run())
    assert len(set(before)) == 2
    assert after == copied
    assert after != before


def test_wrong_calls_and_options() -> None:
    with pytest.raises(ToolError, match="must be a string"):
        ask({}, ["a"])
    for options, message in (
        ({"start_noise": 1.5}, "are chances"),
        ({"base": 0.0}, "base = 0 is out of range"),
        ({"topk": 0}, "topk = 0 is out of range"),
        ({"endpoint": {"base_url": "http://x"}}, r"endpoint: missing 'model'"),
    ):
        with pytest.raises(PageError, match=message):
            schema.read(Options, options, "test")


def said(text: Any) -> tuple[int, Any]:
    return 200, {"choices": [{"message": {"content": text}}]}


def test_a_model_writes_the_documents(chat_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handler, endpoint = chat_model
    monkeypatch.setenv("TOOLENVS_TEST_KEY", "s3cret")
    handler.answers += [(503, {}), said("Doc 1: a\nDoc 2: b\nDoc 3: c"), said("Doc 1: x")]
    options = {"endpoint": endpoint, "topk": 2}
    assert ask(options, "who {founded} it").text == "Doc 1: a\nDoc 2: b"  # what is beyond the last is cut
    assert ask({**options, "start_noise": 1.0}, "who").text == "Doc 1: x"
    (token, first), (_, again), (_, noisy) = handler.asked
    assert token == "Bearer s3cret"
    assert first == again
    assert (first["model"], first["max_tokens"]) == ("tiny", 64)
    prompt, other = first["messages"][0]["content"], noisy["messages"][0]["content"]
    for part in (TASK.question, TASK.gold, "who {founded} it", "Doc 1, Doc 2", "must help"):
        assert part in prompt
    assert "must not help" in other


def test_a_model_that_fails_is_infrastructure(chat_model: Any) -> None:
    handler, endpoint = chat_model
    handler.answers += [(400, {"error": "no such model"}), (200, b"not json"), said(None)]
    with pytest.raises(EngineError, match="status 400.*no such model"):
        ask({"endpoint": endpoint}, "x")
    with pytest.raises(EngineError, match="answered without a message"):
        ask({"endpoint": endpoint}, "x")
    assert len(handler.asked) == 3  # what is no json is asked for again
    env = ToolEnv("ZeroSearch-v0", **{"tools.simulated_search.endpoint": endpoint})
    handler.answers += [said("Doc 1: checked"), said("Doc 1: a"), (400, {})]
    env.reset(seed=0)
    assert "Doc 1: a</information>" in env.step("<search>x</search>")[0]
    _, _, _, truncated, info = env.step("<search>x</search>")
    assert (truncated, info["ending"]) == (True, "infrastructure")
    env.close()
