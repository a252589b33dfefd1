"""The pair of search self-play: what a proposal is worth, and who may read and solve it."""

import sys
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.agents.scripted import Oracle
from toolenvs.env import ToolEnv
from toolenvs.episode import Episode
from toolenvs.errors import EngineError, PageError
from toolenvs.rewards.proposals import Flaw, Proposal
from toolenvs.rollout import run_episode
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author

AGENTS = '''
from toolenvs.errors import EngineError

class Constant:
    def __init__(self, solved):
        self.solved, self.asked = solved, []

    async def solve(self, task, *, n, seed):
        self.asked.append((task.question, task.golds, n))
        if isinstance(self.solved, str):
            raise EngineError(self.solved)
        return self.solved[:n]

class Cheat:
    """An agent: right at every second try."""
    async def act(self, request):
        from toolenvs.rollout import Action
        number = int(request.key.partition(".")[0])
        return Action(text=f"<answer>{request.task.gold if number % 2 else 'no'}</answer>")

    def release(self, key):
        pass

half, broken, cheat = Constant([1, 0, 1, 0]), Constant("gone"), Cheat()
number = 7
'''


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "ssp_agents.py").write_text(AGENTS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ssp_agents", raising=False)
    import ssp_agents  # type: ignore[import-not-found]

    return ssp_agents


def proposed(index: int = 0, **options: Any) -> tuple[Episode, Any]:
    """The oracle's episode about an answer."""
    blueprint = toolenvs.load("SSPProposer-v0", **options)
    task = blueprint.tasks[index]
    episode = Episode(blueprint, task)
    turn = None
    for action in [f"<search>{query}</search>" for query in task.extra["queries"]]:
        turn = loop.run(episode.step(action))
        assert turn.ending is None
    turn = loop.run(episode.step(f"<question>{task.extra['proposal']}</question>"))
    return episode, turn


def test_the_prompt_names_the_answer_and_the_searches() -> None:
    blueprint = toolenvs.load("SSPProposer-v0")
    task = blueprint.tasks[0]
    prompt = blueprint.render_prompt(task)
    assert f"Answer: {task.gold}\nSearches needed: {task.extra['hops']}" in prompt
    assert task.extra["proposal"] not in prompt


def test_a_valid_question_earns_what_the_solver_fails_at() -> None:
    episode, turn = proposed()
    verdict = episode.verdict
    assert isinstance(verdict, Proposal)
    assert (verdict.correct, verdict.flaw, len(verdict.solved)) == (True, None, 5)
    assert turn.reward == pytest.approx(1 - sum(verdict.solved) / 5)
    assert episode.success is True
    assert proposed()[0].verdict == verdict


def test_harder_questions_earn_more() -> None:
    def mean(hops: int) -> float:
        rewards = [proposed(index, min_hops=hops, max_hops=hops)[1].reward for index in range(25)]
        return sum(rewards) / len(rewards)

    assert mean(1 + 2) > mean(2) + 0.1


def test_a_reader_sees_through_noise_but_not_without_the_evidence() -> None:
    """The same question with searches that found something else is not answerable."""
    blueprint = toolenvs.load("SSPProposer-v0")
    for index in range(5):
        task = blueprint.tasks[index]
        other = blueprint.tasks[index + 20]
        episode = Episode(blueprint, task)
        for query in other.extra["queries"]:
            loop.run(episode.step(f"<search>{query}</search>"))
        turn = loop.run(episode.step(f"<question>{task.extra['proposal']}</question>"))
        assert isinstance(episode.verdict, Proposal)
        assert (turn.reward, episode.success, episode.verdict.flaw) == (0, False, Flaw.UNANSWERABLE)
    assert blueprint.judge.flaws == {Flaw.UNANSWERABLE: 5}


def test_another_form_and_another_number_of_tries(agents: Any) -> None:
    solver = {"name": "ssp_agents:half", "tries": 4}
    assert proposed(**{"judge.solver": solver})[1].reward == 0.5
    assert proposed(**{"judge.solver": solver, "form": "balanced"})[1].reward == 1.0
    solver["tries"] = 1
    assert proposed(**{"judge.solver": solver, "form": "balanced"})[1].reward == 0.0
    task = toolenvs.load("SSPProposer-v0").tasks[0]
    assert agents.half.asked[0] == (task.extra["proposal"], task.golds, 4)


def test_nobody_may_try_yet() -> None:
    episode, turn = proposed(**{"judge.solver": {"name": ""}})
    assert (turn.reward, episode.success) == (0.0, True)


def test_an_agent_plays_the_solvers_page(agents: Any) -> None:
    assert proposed(**{"judge.solver": {"name": "ssp_agents:cheat", "tries": 4}})[1].reward == 0.5


def test_a_solver_that_fails_is_infrastructure(agents: Any) -> None:
    episode, turn = proposed(**{"judge.solver": {"name": "ssp_agents:broken"}})
    assert (turn.ending, turn.reward, turn.fault, episode.success) == ("infrastructure", 0, "gone", None)


@pytest.mark.parametrize("name", ["ssp_agents:number", "ssp_agents:Cheat"])
def test_not_everything_solves(agents: Any, name: str) -> None:
    with pytest.raises(PageError, match=r"neither a solver, an object with solve\(\), nor an agent"):
        toolenvs.load("SSPProposer-v0", **{"judge.solver": {"name": name}})


def test_a_model_reads(chat_model: Any) -> None:
    handler, endpoint = chat_model
    task = toolenvs.load("SSPProposer-v0").tasks[0]
    wrong, right = ({"choices": [{"message": {"content": text}}]} for text in ("unknown", f"{task.gold}."))
    handler.answers += [(200, wrong), (200, right), (400, {"error": "gone"})]
    options = {"judge.endpoint": endpoint, "judge.solver": {"name": ""}}
    told = [proposed(**options) for _ in range(3)]
    assert [episode.success for episode, _ in told] == [False, True, None]
    assert [turn.ending for _, turn in told] == ["answer", "answer", "infrastructure"]
    prompts = [body["messages"][0]["content"] for _, body in handler.asked]
    assert prompts[0] == prompts[1]
    text = prompts[0].partition("Text:\n")[2]
    blocks = [block for block in text.split("\n\n") if block.strip()]
    assert len(blocks) == 1 + 4  # what was found, and four blocks of noise
    assert sum(task.gold in block for block in blocks) == 1


def test_noise_makes_way_for_what_was_found(chat_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handler, endpoint = chat_model
    handler.answers += [(200, {"choices": [{"message": {"content": "unknown"}}]})]
    monkeypatch.setattr("toolenvs.rewards.judges.proposal.MAX_CHARS", 2_000)
    episode, _ = proposed(**{"judge.endpoint": endpoint})
    found = [segment.text for segment in episode.transcript.by(Author.TOOL) if segment.verbatim]
    prompt = handler.asked[0][1]["messages"][0]["content"]
    text = prompt.partition("Text:\n")[2]
    assert len(text) <= 2_000
    assert "\n".join(found) in text
    assert len(text.split("\n\n")) == 5


def test_the_corpus_must_be_the_tasks() -> None:
    with pytest.raises(PageError, match=r"judge: corpus = 'world:1000' is not the world"):
        toolenvs.load("SSPProposer-v0", passages=2000, index="world:2000")
    changed = toolenvs.load("SSPProposer-v0", passages=2000, index="world:2000", corpus="world:2000")
    assert "Answer: " in changed.tasks[0].question


def test_the_reward_needs_its_judge() -> None:
    env = ToolEnv("SSPSolver-v0", reward=[{"term": "ssp_proposer"}])
    env.reset(seed=0)
    with pytest.raises(PageError, match=r'needs judge.name = "proposal"'):
        env.step("<answer>x</answer>")
    env.close()


def test_seed_answers_load_as_they_are_published(tmp_path: Path) -> None:
    file = tmp_path / "seeds.jsonl"
    file.write_text('{"ground_truth": "Oldport", "search_turns": 3, "sys_question_example": "x"}\n' * 2, "utf-8")
    tasks = toolenvs.load("SSPProposer-v0", **{"tasks.set": str(file)}).tasks
    assert [(task.question, task.golds) for task in tasks] == [("Answer: Oldport\nSearches needed: 3", ("Oldport",))]
    assert tasks[0].extra == {"hops": 3, "sys_question_example": "x"}


@pytest.mark.parametrize(
    ("said", "answer", "success"),
    [
        ("Correct", "the capital", True),
        ("correct.", "the capital", True),
        ("Wrong", "the capital", False),
        ("Incorrect", "the capital", False),
        (None, "old port", None),  # neither word
    ],
)
def test_a_model_judges_the_solver(chat_model: Any, said: str | None, answer: str, success: bool | None) -> None:
    handler, endpoint = chat_model
    handler.answers += [(200, {"choices": [{"message": {"content": said or "maybe"}}]})]
    blueprint = toolenvs.load("SSPSolver-v0", **{"judge.endpoint": endpoint})
    episode = Episode(blueprint, Task(id="t", question="Which town?", golds=("Oldport",)))
    turn = loop.run(episode.step(f"<answer>{answer}</answer>"))
    assert (episode.success, turn.reward) == (success, float(success or 0))
    [(_, asked)] = handler.asked
    assert f"Question: Which town?\nReference: Oldport\nAnswer: {answer}\n" in asked["messages"][0]["content"]


def test_a_model_is_not_asked_where_exact_match_says_yes(chat_model: Any) -> None:
    handler, endpoint = chat_model
    blueprint = toolenvs.load("SSPSolver-v0", **{"judge.endpoint": endpoint})
    for answer, success in (("the Oldport.", True), ("", False)):
        episode = Episode(blueprint, Task(id="t", question="Which town?", golds=("Oldport",)))
        loop.run(episode.step(f"<answer>{answer}</answer>"))
        assert (episode.success, handler.asked) == (success, [])


def test_the_solver_agent_fails_loudly() -> None:
    from toolenvs.self_play import AgentSolver

    class Broken:
        async def act(self, request: Any) -> Any:
            raise EngineError("gone")

        def release(self, key: str) -> None: ...

    blueprint = toolenvs.load("SSPProposer-v0")
    blueprint.judge.solver = AgentSolver(Broken())
    trajectory = loop.run(run_episode(blueprint, Oracle(blueprint), blueprint.tasks[0]))
    assert (trajectory.ending, trajectory.success) == ("infrastructure", None)
    assert "gone" in (trajectory.fault or "")
