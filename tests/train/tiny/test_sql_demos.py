"""The script that demonstrates queries: its shares, its faults, and its episodes in the real environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import blueprint
from toolenvs.errors import ConfigError, TaskError
from toolenvs.rollout import collect
from toolenvs.tasks.generated import generate
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.train.tiny import demonstrator, sql_demos
from toolenvs.train.tiny.sql_demos import SqlDemonstration, SqlDemonstrator, spoilt

COUNT = 1000
KEYS = {
    "prompt.template": "plain",
    "prompt.user": "{question}\n",
    "budget.max_turns": 2,
    "tasks.max_level": 1,
}
GOLD = "SELECT name FROM place WHERE known_for = 'mills' AND population > 500000 ORDER BY elevation DESC LIMIT 1"


@pytest.fixture(scope="module")
def demonstrations():
    return [(task, SqlDemonstration.of(task, seed=0)) for task in generate("world_sql", size=COUNT, max_level=1)]


def test_shares_are_the_published_ones(demonstrations):
    faulty = [demo for task, demo in demonstrations if demo.query != task.gold]
    assert len(faulty) / COUNT == pytest.approx(0.55, abs=0.05)
    assert sum(demo.tries for _, demo in demonstrations) / COUNT == pytest.approx(0.5, abs=0.05)
    assert sum(demo.stubborn for demo in faulty) / len(faulty) == pytest.approx(0.3, abs=0.06)


def test_a_demonstration_depends_on_task_and_seed_alone(demonstrations):
    task, demo = demonstrations[3]
    assert SqlDemonstration.of(task, seed=0) == demo
    assert any(SqlDemonstration.of(task, seed=1) != demo for task, demo in demonstrations[:10])


def test_every_kind_of_fault_occurs():
    found = {spoilt(GOLD, Draws("faults", number)) for number in range(2000)}
    assert GOLD not in found
    for fault in (
        GOLD.replace(">", ">="),
        GOLD.replace("DESC", "ASC"),
        GOLD.replace("FROM place", "FROM event"),
        GOLD.replace("elevation", "visitors"),
        GOLD.replace("known_for = 'mills' AND ", ""),
        "SELECT name",
        "population",
    ):
        assert fault in found


@given(st.integers(0, 10**9))
def test_a_fault_is_one(seed):
    assert spoilt(GOLD, Draws("fault", seed)) != GOLD


@pytest.mark.parametrize(
    ("result", "faulty"),
    [
        ("", False),
        ("name\nBravek\n(1 row)", False),
        ("name\n(0 rows)", True),
        ("count(*)\n20\n(1 row)", False),
        ("Error (no_such_column): no such column: x", True),
        ("name\nErrorham\n(10 rows)", False),
    ],
)
def test_it_writes_another_query_where_the_database_found_fault(result, faulty):
    task = Task(id="0", question="?", golds=(GOLD,), source="world_sql")
    mild, stubborn = (SqlDemonstration(query="SELECT 1", tries=True, stubborn=s) for s in (False, True))
    assert mild.answer(task, result) == (GOLD if faulty else "SELECT 1")
    assert stubborn.answer(task, result) == "SELECT 1"


def test_other_tasks_are_refused():
    with pytest.raises(TaskError, match="tasks.set to 'world_sql'"):
        SqlDemonstration.of(Task(id="0", question="Who?", golds=("me",)), seed=0)


async def test_demonstrations_are_run_judged_and_masked(tokenizer):
    env = blueprint.load("toolenvs/SQL-v0", tokenizer=tokenizer, **KEYS)
    tasks = [env.tasks[index] for index in range(40)]
    agent = demonstrator(env, seed=0)
    assert isinstance(agent, SqlDemonstrator)
    trajectories = await collect(env, agent, tasks)
    assert {bool(trajectory.calls) for trajectory in trajectories} == {True, False}
    assert {trajectory.success for trajectory in trajectories} == {0.0, 1.0}
    for task, trajectory in zip(tasks, trajectories, strict=True):
        demo = SqlDemonstration.of(task, seed=0)
        assert trajectory.ending == "answer"
        if demo.query == task.gold:
            assert trajectory.success == 1
        tokens = trajectory.tokens
        assert (tokens.mask[-1], tokenizer.decode(tokens.ids[tokens.mask == 1]).count("<solution>")) == (1, 1)
        assert "<observation>" not in tokenizer.decode(tokens.ids[tokens.mask == 1])


async def test_a_script_without_faults_is_always_right(tokenizer, monkeypatch):
    monkeypatch.setattr(sql_demos, "FAULTY_PERCENT", 0)
    env = blueprint.load("toolenvs/SQL-v0", tokenizer=tokenizer, **KEYS | {"tasks.max_level": 3})
    trajectories = await collect(env, SqlDemonstrator(env, seed=0), [env.tasks[index] for index in range(20)])
    assert [trajectory.success for trajectory in trajectories] == [1.0] * 20


def test_a_tokenizer_is_needed():
    with pytest.raises(ConfigError, match="tokenizer"):
        SqlDemonstrator(blueprint.load("toolenvs/SQL-v0"), seed=0)
