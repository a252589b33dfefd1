"""The script that demonstrates searching: its shares, its honesty, and its episodes in the real environment."""

import pytest

from toolenvs import blueprint
from toolenvs.errors import ConfigError, TaskError
from toolenvs.rollout import collect
from toolenvs.tasks.generated import generate
from toolenvs.tasks.task import Task
from toolenvs.train.tiny import demonstrator, search_demos
from toolenvs.train.tiny.search_demos import SearchDemonstration, SearchDemonstrator

COUNT = 1500
KEYS = {
    "prompt.template": "plain",
    "prompt.user": "{question}\n",
    "tools.search.topk": 1,
    "tasks.max_hops": 1,
}
PASSAGE = "Doc 1(Title: Bravek) The town of Bravek, known for its mills, lies in Zoria. Its mayor is Mi Dovek."
TASK = Task(id="0", question="Who is the mayor of Bravek?", golds=("Mi Dovek",), source="world")


@pytest.fixture(scope="module")
def demonstrations():
    return [(task, SearchDemonstration.of(task, seed=0)) for task in generate("world", size=COUNT, max_hops=1)]


def test_shares_are_the_published_ones(demonstrations):
    searching = [(task, demo) for task, demo in demonstrations if demo.queries]
    nameless = [demo for task, demo in searching if demo.queries != tuple(task.extra["queries"])]
    assert len(searching) / COUNT == pytest.approx(0.65, abs=0.04)
    assert len(nameless) / len(searching) == pytest.approx(0.15, abs=0.04)
    assert sum(demo.misreads for _, demo in searching) / len(searching) == pytest.approx(0.25, abs=0.04)
    assert all(demo.guesses for demo in nameless)
    assert all(query == query.lower() for demo in nameless for query in demo.queries)


def test_a_demonstration_depends_on_task_and_seed_alone(demonstrations):
    task, demo = demonstrations[3]
    assert SearchDemonstration.of(task, seed=0) == demo
    assert any(SearchDemonstration.of(task, seed=1) != demo for task, demo in demonstrations[:10])


def test_it_answers_only_what_the_passage_says():
    reads, misreads = (SearchDemonstration(queries=("Bravek",), misreads=m, guesses=False) for m in (False, True))
    assert reads.answer(TASK, PASSAGE) == "Mi Dovek"
    assert misreads.answer(TASK, PASSAGE) in {"Bravek", "Zoria"}
    assert reads.answer(TASK, PASSAGE.replace("Mi Dovek", "Ro Sarn")) in {"Bravek", "Zoria", "Ro Sarn"}
    assert reads.answer(TASK, "") == "unknown"


def test_other_tasks_are_refused():
    with pytest.raises(TaskError, match="tasks.set to 'world'"):
        SearchDemonstration.of(Task(id="0", question="Who?", golds=("me",)), seed=0)


async def test_demonstrations_are_searched_judged_and_masked(tokenizer):
    env = blueprint.load("toolenvs/SearchR1-v0", tokenizer=tokenizer, **KEYS)
    tasks = [env.tasks[index] for index in range(40)]
    agent = demonstrator(env, seed=0)
    assert isinstance(agent, SearchDemonstrator)
    trajectories = await collect(env, agent, tasks)
    assert {bool(trajectory.calls) for trajectory in trajectories} == {True, False}
    for task, trajectory in zip(tasks, trajectories, strict=True):
        demo = SearchDemonstration.of(task, seed=0)
        assert trajectory.ending == "answer"
        assert trajectory.success == float(not demo.guesses and not demo.misreads)
        tokens = trajectory.tokens
        assert (tokenizer.decode(tokens.ids[-1:]), tokens.mask[-1]) == ("</answer>", 1)  # a stop string of the page
        written = tokenizer.decode(tokens.ids[tokens.mask == 1])
        assert "<information>" not in written
        assert all(call.result not in written for call in trajectory.calls)


async def test_two_hops_are_searched_one_after_the_other(tokenizer, monkeypatch):
    monkeypatch.setattr(search_demos, "SEARCH_PERCENT", 100)
    monkeypatch.setattr(search_demos, "FAULTY_PERCENT", 0)
    monkeypatch.setattr(search_demos, "MISREADING_PERCENT", 0)
    env = blueprint.load(
        "toolenvs/SearchR1-v0", tokenizer=tokenizer, **KEYS | {"tasks.min_hops": 2, "tasks.max_hops": 2}
    )
    trajectories = await collect(env, SearchDemonstrator(env, seed=0), [env.tasks[index] for index in range(10)])
    assert [(len(trajectory.calls), trajectory.success) for trajectory in trajectories] == [(2, 1.0)] * 10


def test_a_tokenizer_is_needed():
    with pytest.raises(ConfigError, match="tokenizer"):
        SearchDemonstrator(blueprint.load("toolenvs/SearchR1-v0"), seed=0)
