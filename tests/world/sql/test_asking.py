"""Questions over the world's database: enough of them, right, and each with a gold that can be judged by."""

import asyncio
import contextlib
import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterator

import pytest

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.rewards.sql import Boundary, Suite, outline
from toolenvs.tasks.task import Task
from toolenvs.world import World
from toolenvs.world.sql import THRESHOLDS, named_file
from toolenvs.world.sql.templates import LEVELS


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def drawn(cache: None) -> list[Task]:
    """One task for each of the first 450 different questions."""
    found: dict[str, Task] = {}
    for task in tasks.load("world_sql", size=10_000):
        found.setdefault(task.question, task)
        if len(found) == 450:
            break
    return list(found.values())


def test_there_are_enough_questions_of_every_template(drawn: list[Task]) -> None:
    assert len(drawn) == 450
    counts = Counter(task.extra["template"] for task in drawn)
    assert set(counts) == {template.__name__ for level in LEVELS for template in level}
    assert len({task.gold for task in drawn}) > 430


def test_every_gold_can_be_judged_by_and_passes(drawn: list[Task]) -> None:
    plants = [Boundary(column, value) for (_, column), values in THRESHOLDS.items() for value in values]
    path = named_file("world:1000:0")
    assert path is not None
    with Suite(path, plants=plants) as suite:
        assert {task.gold: why for task in drawn if (why := suite.check(task.gold))} == {}

        async def passed() -> list[str]:
            return [task.gold for task in drawn if (await suite.judge(task.gold, task.gold)).equal]

        assert len(asyncio.run(passed())) == len(drawn)


def test_answers_are_those_of_the_world(drawn: list[Task]) -> None:
    world = World(1_000)
    facts = {entity.name: entity for entity in map(world.entity, world.keys())}
    path = named_file("world:1000:0")
    assert path is not None
    values = [task for task in drawn if task.extra["template"] == "value"]
    assert values
    with contextlib.closing(sqlite3.connect(path)) as base:
        for task in values:
            name = task.gold.split("'")[1]
            column = task.gold.split()[1]
            assert base.execute(task.gold).fetchall() == [(facts[name].figures[column],)]
            assert name in task.question


def test_order_is_asked_for_where_the_query_orders(drawn: list[Task]) -> None:
    for task in drawn:
        said = any(words in task.question for words in (" first.", "ordered by", "in order of"))
        assert task.extra["ordered"] == (outline(task.gold).ordered and not task.gold.endswith("LIMIT 1"))
        assert said == task.extra["ordered"] or task.extra["template"] == "span", task.question


def test_levels(cache: None) -> None:
    easy = tasks.load("world_sql", size=60, min_level=1, max_level=1)
    assert all(" JOIN " not in task.gold and task.extra["level"] == 1 for task in easy)
    hard = tasks.load("world_sql", size=20, min_level=3)
    assert {task.extra["level"] for task in hard} == {3}


def test_sets_are_reproducible_and_their_splits_disjoint(cache: None) -> None:
    first = tasks.load("world_sql", size=120, seed=4)
    again = pickle.loads(pickle.dumps(first))
    assert list(first) == list(again)
    questions = {
        split: {t.question for t in tasks.load("world_sql", split=split, size=120)} for split in ("train", "test")
    }
    assert not questions["train"] & questions["test"]
    assert first[0].extra["database"] == "world:1000:0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passages": 50}, "world_sql: passages is 50; give 100 to 20000"),
        ({"world": -1}, "world_sql: world is -1"),
        ({"min_level": 3, "max_level": 2}, "world_sql: max_level is 2; give 3 to 3"),
        ({"min_level": 0}, "world_sql: min_level is 0"),
    ],
)
def test_options_out_of_range(options: dict[str, int], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        tasks.load("world_sql", **options)
