"""Wrong queries that are accepted, and right ones that are not: a small run of benchmarks/sql_judge.py."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("sql_judge")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def figures(benchmark: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> object:
    source, golds = benchmark.golds_of("world_sql", 40)
    benchmark.prepare(source, golds, tmp_path_factory.mktemp("states"), states=2, wrong=6, right=4)
    found = benchmark.Figures()
    asyncio.run(benchmark.judge(source, golds, found))
    return found


def test_few_of_the_wrong_queries_are_accepted_that_sets_accept(figures: object) -> None:
    assert figures.wrong >= 150  # type: ignore[attr-defined]
    assert figures.accepted["set"] >= 5  # type: ignore[attr-defined]
    assert figures.ratio <= 0.6, figures.let_through  # type: ignore[attr-defined]


def test_no_right_query_is_refused(figures: object) -> None:
    assert figures.right >= 120  # type: ignore[attr-defined]
    assert figures.refused == []  # type: ignore[attr-defined]


def test_a_state_tells_a_wrong_query_and_spares_a_right_one(benchmark: ModuleType, shop: Path, tmp_path: Path) -> None:
    gold = benchmark.Gold("SELECT count(*) FROM purchase WHERE price > 40", ordered=False, template="count")
    (state,) = benchmark.write_states(shop, tmp_path, [gold], 1)
    assert state.differs(gold, "SELECT count(*) FROM purchase WHERE price >= 40") is True
    assert state.differs(gold, "SELECT count(*) FROM purchase WHERE NOT price <= 40") is False
    assert state.run("SELECT count(*) FROM customer").rows > ((90,),)
