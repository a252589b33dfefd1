"""Results that are given again: the same as another run would give, and only where it would."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import databases
from toolenvs.databases import Database, Limits, wire
from toolenvs.databases.kept import Kept
from toolenvs.databases.pool import Gone, Pool
from toolenvs.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _made(tmp_path / "one.sqlite", 7)


def _made(path: Path, value: int) -> Path:
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (a)")
        made.executemany("INSERT INTO t VALUES (?)", [(value + n,) for n in range(100)])
        made.commit()
    return path


@pytest.fixture
def base(file: Path) -> Iterator[Database]:
    with databases.open(file, workers=1, keep=4) as opened:
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was sent to a process."""
    sent: list[bytes] = []
    exchange, aexchange = Pool.exchange, Pool.aexchange

    def noted(self: Pool, frame: bytes, timeout_s: float) -> object:
        sent.append(frame)
        return exchange(self, frame, timeout_s)

    async def anoted(self: Pool, frame: bytes, timeout_s: float) -> object:
        sent.append(frame)
        return await aexchange(self, frame, timeout_s)

    monkeypatch.setattr(Pool, "exchange", noted)
    monkeypatch.setattr(Pool, "aexchange", anoted)
    return sent


async def test_the_same_query_is_run_once(base: Database, asked: list[bytes]) -> None:
    first = base.query("SELECT sum(a) FROM t", seed=1)
    assert first.rows == ((sum(range(7, 107)),),)
    assert base.query("SELECT sum(a) FROM t", seed=2) is first
    assert await base.aquery("SELECT sum(a) FROM t", seed=3) is first
    assert base.query("SELECT sum(a) FROM t", answer=True) is first
    assert len(asked) == 1
    base.query("SELECT sum(a)  FROM t")
    assert len(asked) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT random()",
        "SELECT a FROM t ORDER BY random() LIMIT 3",
        "SELECT randomblob(4)",
        "SELECT a FROM t WHERE a > 1000 OR random() = 1",
        "SELECT nothing",
        "DELETE FROM t",
        "PRAGMA table_list",
        "EXPLAIN SELECT 1",
        "SELECT a FROM t, (SELECT 1 UNION ALL SELECT 2) LIMIT 1, 90000 -- more rows than are kept",
        "SELECT hex(zeroblob(8000))",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    ],
)
def test_what_chance_limits_or_size_decide_is_run_again(base: Database, asked: list[bytes], sql: str) -> None:
    limits = base.limits.override(max_rows=20, max_steps=100_000)
    for _ in range(2):
        base.query(sql, limits)
    assert len(asked) == 2


def test_the_seed_counts_where_random_numbers_are_drawn(base: Database) -> None:
    drawn = [base.query("SELECT random()", seed=seed).rows for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_the_clock_counts(base: Database) -> None:
    told = [base.query("SELECT datetime('now')", now=now).rows for now in (None, "2001-01-01 00:00:00", None)]
    assert told[0] == told[2] == (("2025-01-01 00:00:00",),)
    assert told[1] == (("2001-01-01 00:00:00",),)


@settings(max_examples=60)
@given(
    ran=st.fixed_dictionaries(
        {"max_rows": st.integers(1, 200), "max_steps": st.integers(1, 4).map(lambda n: n * 1000)}
    ),
    asks=st.fixed_dictionaries({"max_rows": st.integers(1, 200), "max_value_bytes": st.integers(1, 50)}),
    sql=st.sampled_from(["SELECT a FROM t", "SELECT a FROM t LIMIT 50", "SELECT 'abcdefghijklmnopqrstuvwxyz'"]),
)
def test_other_limits_give_what_a_run_within_them_gives(
    shared_pair: tuple[Database, Database], ran: dict[str, int], asks: dict[str, int], sql: str
) -> None:
    keeps, runs = shared_pair
    keeps.query(sql, keeps.limits.override(**ran))
    limits = keeps.limits.override(**asks)
    kept, run = keeps.query(sql, limits), runs.query(sql, limits)
    assert (kept.text, kept.rows, kept.truncated, kept.steps, kept.code) == (
        run.text, run.rows, run.truncated, run.steps, run.code,
    )  # fmt: skip


@pytest.fixture(scope="module")
def shared_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Database]]:
    path = _made(tmp_path_factory.mktemp("pair") / "one.sqlite", 7)
    with databases.open(path, workers=1, keep=2) as keeps, databases.open(path, workers=1) as runs:
        yield keeps, runs


def test_databases_of_one_file_share_them_and_a_changed_file_has_its_own(file: Path, asked: list[bytes]) -> None:
    with databases.open(file, workers=1, keep=4) as one, databases.open(file, workers=1, keep=4, max_rows=50) as two:
        assert one.query("SELECT count(*), max(a) FROM t").rows == ((100, 106),)
        before = len(asked)
        assert two.query("SELECT count(*), max(a) FROM t").rows == ((100, 106),)
        assert len(asked) == before + 1  # of fewer rows than the first might have had
        assert one.query("SELECT count(*), max(a) FROM t").rows == ((100, 106),)
        assert len(asked) == before + 1
        _made(file, 50)
        os.utime(file, ns=(1, 1))
        with databases.open(file, workers=1, keep=4) as three:
            assert three.query("SELECT count(*), max(a) FROM t").rows == ((100, 149),)
        assert one.query("SELECT count(*), max(a) FROM t").rows == ((100, 106),)


def test_no_more_are_kept_than_was_said(base: Database) -> None:
    for number in range(20):
        assert base.query(f"SELECT {number}").rows == ((number,),)
        assert len(base._kept[0]) <= 4
    with databases.open(base.path, workers=1) as other:  # type: ignore[attr-defined]
        other.query("SELECT 99")
    assert base._kept[0].find("SELECT 99", base._now, base.limits) is None


def test_what_is_asked_for_again_and_again_stays(base: Database, asked: list[bytes]) -> None:
    for number in range(20):
        base.query("SELECT 'often'")
        base.query(f"SELECT {number}")
    assert len(asked) == 21


@given(st.integers(2, 9), st.lists(st.integers(0, 12), max_size=60))
def test_never_more_than_that_whatever_is_asked(most: int, asked_for: list[int]) -> None:
    kept, limits = Kept(), Limits()
    for number in asked_for:
        if kept.find(str(number), "", limits) is None:
            kept.add(str(number), "", limits, number, most)  # type: ignore[arg-type]
        assert kept.find(str(number), "", limits) == number
        assert len(kept) <= most


def test_wider_limits_take_over_what_narrower_ones_gave() -> None:
    kept, narrow = Kept(), Limits(max_rows=10)
    kept.add("q", "now", narrow, "result", 2)  # type: ignore[arg-type]
    assert kept.find("q", "now", Limits(max_rows=10)) == "result"
    assert kept.find("q", "now", Limits(max_rows=11, max_steps=2**31 - 1)) == "result"
    for field in ("max_rows", "max_steps", "max_bytes", "max_value_bytes", "max_sql_bytes", "timeout_s"):
        assert kept.find("q", "now", narrow.override(**{field: 1})) is None
    assert kept.find("q", "later", narrow) is None


async def test_one_message_asks_several_files(tmp_path: Path, asked: list[bytes]) -> None:
    paths = [_made(tmp_path / f"{number}.sqlite", number) for number in range(4)]
    first, *beside = map(str, paths)
    with databases.open(first, beside=beside, workers=2, keep=8, timeout_s=60) as opened:
        assert [opened.query("SELECT min(a) FROM t", on=number).rows[0][0] for number in (3, 0)] == [3, 0]
        before = len(asked)
        each = await opened.aquery_each("SELECT min(a) FROM t", range(4))
        assert [result.rows[0][0] for result in each] == [0, 1, 2, 3]
        assert len(asked) == before + 1
        assert await opened.aquery_each("SELECT min(a) FROM t", [3, 1]) == [each[3], each[1]]
        assert len(asked) == before + 1
        codes = [result.code for result in await opened.aquery_each("SELECT b FROM t", [0, 2], answer=True)]
        assert codes == ["no_such_column"] * 2
        refused = await opened.aquery_each("PRAGMA table_list", [0, 2], answer=True)
        assert [result.code for result in refused] == ["not_a_query"] * 2
        assert [result.code for result in await opened.aquery_each("\0", [0, 1])] == ["syntax"] * 2
        with pytest.raises(ConfigError, match="numbered 0 to 3"):
            opened.query("SELECT 1", on=4)


@pytest.mark.parametrize("ends", [TimeoutError(), Gone(signal.SIGALRM), Gone(signal.SIGSEGV)], ids=repr)
async def test_where_one_of_several_ends_the_process_each_is_asked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Exception
) -> None:
    first, *beside = (str(_made(tmp_path / f"{number}.sqlite", number)) for number in range(3))
    aexchange = Pool.aexchange

    async def fails(self: Pool, frame: bytes, timeout_s: float) -> object:
        if wire.decode_request(frame[wire.HEADER.size :])["on"] in (1, (0, 1, 2)):
            raise ends
        return await aexchange(self, frame, timeout_s)

    monkeypatch.setattr(Pool, "aexchange", fails)
    with databases.open(first, beside=beside, workers=1, timeout_s=60) as opened:
        each = await opened.aquery_each("SELECT min(a) FROM t", range(3))
    code = "crashed" if getattr(ends, "signal", 0) == signal.SIGSEGV else "timeout"
    assert [result.code for result in each] == [None, code, None]
    assert [each[0].rows, each[2].rows] == [((0,),), ((2,),)]


async def test_each_of_several_files_has_its_own_time(tmp_path: Path) -> None:
    first, *beside = (str(_made(tmp_path / f"{number}.sqlite", number)) for number in range(3))
    forever = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    with databases.open(first, beside=beside, workers=1, timeout_s=0.5, max_steps=2**31 - 1) as opened:
        each = await opened.aquery_each(forever, range(3))
        assert [result.code for result in each] == ["timeout"] * 3
        assert [result.rows[0][0] for result in await opened.aquery_each("SELECT min(a) FROM t", range(3))] == [0, 1, 2]


async def test_one_message_asks_as_long_as_each_gives_what_is_expected(tmp_path: Path, asked: list[bytes]) -> None:
    first, *beside = (str(_made(tmp_path / f"{number}.sqlite", number)) for number in range(4))
    with databases.open(first, beside=beside, workers=1, keep=8, timeout_s=60) as opened:

        async def told(
            sql: str, on: list[int], expected: list[tuple[int, ...]], most_steps: int = 2**31
        ) -> list[object]:
            like = [wire.digest(("a",), [expected]) for expected in expected]
            before = len(asked)
            given = await opened.aquery_while(sql, on, like, most_steps=most_steps, answer=True)
            assert len(asked) == before + 1
            return [one and (one.rows or one.code) for one in given]

        sql = "SELECT min(a) FROM t"
        assert await told(sql + " ", [0, 1, 2, 3], [(0,), (1,), (2,), (3,)]) == [((0,),), None, None, None]
        assert await told(sql + "  ", [0, 1, 2, 3], [(0,), (1,), (9,), (3,)]) == [((0,),), None, ((2,),)]
        assert await told(sql + "   ", [0, 1], [(1,), (1,)]) == [((0,),)]
        assert await told(sql, [3, 1], [(3,), (1,)]) == [None, None]
        assert await told(sql, [1, 2, 3], [(1,), (1,), (1,)]) == [None, ((2,),)]
        assert await told("SELECT min(a), 0 FROM t", [1], [(1,)]) == [((1, 0),)]  # as many rows, not as many columns
        assert await told("SELECT min(a) + 0.0 FROM t", [1], [(1,)]) == [
            ((1.0,),)
        ]  # equal, but that is not ours to say
        assert await told("SELECT b FROM t", [0, 1], [(0,), (1,)]) == ["no_such_column"]
        assert await told("PRAGMA table_list", [1, 2], [(0,), (1,)]) == ["not_a_query"]
        many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 999) SELECT min(a) FROM t, c"
        assert await told(many, [1, 2], [(1,), (2,)], most_steps=1000) == [None]
        assert await told(many + " ", [0, 2], [(0,), (2,)], most_steps=1000) == [((0,),)]

        before = len(asked)
        kept = opened.query(sql)
        assert await opened.aquery_while(sql, [0, 1], [wire.digest(("a",), [(5,)])] * 2, most_steps=9**9) == [kept]
        assert len(asked) == before + 1
        rest = await opened.aquery_while(sql, [0, 1], [wire.digest(("a",), [(n,)]) for n in (0, 1)], most_steps=9**9)
        assert rest == [kept, None]
        assert wire.decode_request(asked[-1][wire.HEADER.size :])["on"] == (1,)
        assert [one and one.code for one in await opened.aquery_while("\0", [0, 1], ["", ""], most_steps=1)] == [
            "syntax"
        ]


async def test_what_a_process_owes_that_ended_is_left_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *beside = (str(_made(tmp_path / f"{number}.sqlite", number)) for number in range(2))

    async def ends(self: Pool, frame: bytes, timeout_s: float) -> object:
        raise Gone(signal.SIGSEGV)

    with databases.open(first, beside=beside, workers=1, keep=8, timeout_s=60) as opened:
        kept = opened.query("SELECT 1")
        monkeypatch.setattr(Pool, "aexchange", ends)
        like = [wire.digest(("1",), [(1,)])] * 2
        assert await opened.aquery_while("SELECT 1", [0, 1], like, most_steps=9) == [kept]
        assert await opened.aquery_while("SELECT 2", [0, 1], like, most_steps=9) == []
