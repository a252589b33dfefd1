"""Staying awake: for whom messages come one after the other, and for nobody else."""

import os
import socket
from collections.abc import Iterator

import pytest

from toolenvs.databases import awake
from toolenvs.databases.awake import Awake

PROCESSORS = set(range(1024))


@pytest.fixture(autouse=True)
def many_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(PROCESSORS))


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def _expects(ends: tuple[socket.socket, socket.socket], **options: bool) -> Awake:
    """One that a message has come to soon."""
    made = Awake(ends[0], 0.01, **options)
    assert made.receive() is None
    made.came()
    return made


def test_nothing_is_expected_before_something_came_soon(ends: tuple[socket.socket, socket.socket]) -> None:
    made = Awake(ends[0], 60.0)
    ends[1].send(b"one")
    assert made.receive() is None
    made.came()
    assert made.receive() == b"one"


def test_what_came_late_is_not_expected_again(ends: tuple[socket.socket, socket.socket]) -> None:
    made = Awake(ends[0], 0.0)
    made.receive()
    made.came()
    ends[1].send(b"one")
    assert made.receive() is None


def test_after_some_waits_in_vain_it_sleeps_and_one_message_wakes_its_patience(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    rests = 0

    def rest() -> None:
        nonlocal rests
        rests += 1

    monkeypatch.setattr(os, "sched_yield", rest)
    made = _expects(ends)
    ends[1].send(b"one")
    assert made.receive() == b"one"
    vain = []
    for _ in range(awake._PATIENCE + 2):
        rests = 0
        assert made.receive() is None
        vain.append(rests > 0)
    assert vain == [True] * awake._PATIENCE + [False, False]


def test_an_end_of_the_channel_is_told_as_by_recv(ends: tuple[socket.socket, socket.socket]) -> None:
    made = _expects(ends)
    ends[1].close()
    assert made.receive() == b""


def test_with_one_processor_it_always_sleeps(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    made = _expects(ends)
    ends[1].send(b"one")
    assert made.receive() is None


@pytest.mark.parametrize("moves", [False, True])
def test_the_side_that_gives_way_changes_its_processor_and_keeps_its_choice(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    """Between two looks someone else has the processor, so to say."""
    set_to: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, allowed: set_to.append(set(allowed)))
    monkeypatch.setattr(os, "sched_yield", lambda: ends[1].send(b"one"))
    monkeypatch.setattr(awake, "_CROWDED_S", 0.0)
    made = _expects(ends, moves=moves)
    assert made.receive() == b"one"
    assert set_to == []  # first it answers
    made.receive()
    if moves:
        away, back = set_to
        assert len(away) == len(PROCESSORS) - 1
        assert away < back == PROCESSORS
    else:
        assert set_to == []
