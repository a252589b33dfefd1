"""Processes of many databases: as many as are needed, and no more that wait than the limit says."""

import asyncio
import contextlib
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import pool


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{number}.sqlite" for number in range(6)]
    for number, path in enumerate(paths):
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE t (a)")
            base.execute("INSERT INTO t VALUES (?)", (number,))
            base.commit()
    return [f"sqlite:///{path}" for path in paths]


def running(opened: list[databases.Database]) -> list[int]:
    """Which of them have a process that waits, the longest first."""
    order = list(pool._idle_anywhere._pools.values())
    return [number for found in order for number, one in enumerate(opened) if one._pool is found]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of other tests waits."""
    monkeypatch.setattr(pool, "_idle_anywhere", pool._Idle())


def test_the_process_that_waits_longest_is_ended_and_started_again(
    sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAX_IDLE", 3)
    opened = [databases.open(source, workers=1) for source in sources]
    assert running(opened) == [3, 4, 5]
    before = [worker for one in opened for worker in one._pool._idle]
    for number in (0, 3, 5):
        assert opened[number].query("SELECT a FROM t").rows == ((number,),)
    assert running(opened) == [0, 3, 5]
    assert [worker.alive for worker in before] == [
        False,
        False,
        True,
    ]  # the first two were ended, one of them started again
    for one in opened:
        one.close()
    assert running(opened) == []


async def test_no_query_loses_its_process(sources: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_IDLE", 1)
    opened = [databases.open(source, workers=2) for source in sources[:3]]

    async def ask(number: int) -> object:
        return (await opened[number % 3].aquery("SELECT a FROM t")).rows[0][0]

    assert await asyncio.gather(*map(ask, range(24))) == [number % 3 for number in range(24)]
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(opened[n % 3].query("SELECT a FROM t").rows[0][0]))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [0] * 4 + [1] * 4 + [2] * 4
    for one in opened:
        one.close()


def test_a_forked_child_ends_no_process_of_its_parent(sources: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [databases.open(source, workers=1) for source in sources[:2]]
    monkeypatch.setattr(pool, "MAX_IDLE", 1)
    child = os.fork()
    if not child:
        told = 1
        with contextlib.suppress(BaseException):
            told = int([one.query("SELECT a FROM t").rows[0][0] for one in opened] != [0, 1])
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(worker.alive for one in opened for worker in one._pool._idle)
    assert [one.query("SELECT a FROM t").rows[0][0] for one in opened] == [0, 1]
    for one in opened:
        one.close()
