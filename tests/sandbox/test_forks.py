"""Forks of live sessions under stress and under attack: nothing is lost, nothing stays behind."""

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolenvs.errors import ForkError
from toolenvs.sandbox.local import LocalBox


@pytest.fixture
def forking(box: LocalBox) -> LocalBox:
    if box.tier == "fork":
        with box.session() as session:
            session.run("x = 1")
            with pytest.raises(ForkError, match="refuses every fork"):
                session.fork()
        pytest.skip("this tier refuses every fork, as was just seen")
    return box


def steady(box: LocalBox, settle: Callable[[LocalBox, int], int]) -> int:
    """How many processes live below the fork servers, once that does not change any more and none is starting."""
    count = -1
    while count != (count := settle(box, 1_000)) or any(pool._growing for pool in box._pools.values()):
        time.sleep(0.2)
    return count


def test_copies_may_end_before_they_are_known(forking: LocalBox, settle: Callable[[LocalBox, int], int]) -> None:
    with forking.session() as session:
        session.run("x = [0]")
        before = settle(forking, 16)
        for _ in range(100):
            copy = session.fork()
            grandchild = copy.fork()
            copy.close()
            assert grandchild.run("x.append(1); len(x)").value == "2"
            session.fork().close()
            grandchild.close()
        assert session.run("len(x)").value == "1"
        assert settle(forking, before) <= before


def test_copies_of_one_tree_are_made_side_by_side(forking: LocalBox) -> None:
    def branch(number: int) -> list[str | None]:
        with forking.session() as session:
            session.run(f"x = {number}")
            answers = []
            for step in range(8):
                with session.fork() as copy, copy.fork() as grandchild:
                    copy.run("x = None")
                    answers.append(grandchild.run(f"x * 10 + {step}").value)
            return answers

    with ThreadPoolExecutor(4) as threads:
        for number, answers in enumerate(threads.map(branch, range(4))):
            assert answers == [str(number * 10 + step) for step in range(8)]


def test_to_the_program_a_copy_is_no_fork(forking: LocalBox) -> None:
    hooks = ", ".join(f"{when}=lambda: ran.append(1)" for when in ("before", "after_in_parent", "after_in_child"))
    with forking.session() as session:
        session.run(f"import os, random, threading\nran = []\nos.register_at_fork({hooks})\nrandom.seed(3)")
        with session.fork() as copy:
            look = "ran, random.random(), threading.current_thread() is threading.main_thread()"
            assert copy.run(look).value == session.run(look).value
            assert copy.run("ran").value == "[]"
            started = "started = threading.Thread(target=ran.append, args=[2])\nstarted.start()\nstarted.join()\nran"
            assert copy.run(started).value == session.run(started).value == "[2]"


HOOKS = {
    "forks before": "os.register_at_fork(before=more)",
    "forks in the parent": "os.register_at_fork(after_in_parent=more)",
    "forks in the copy": "os.register_at_fork(after_in_child=more)",
    "hangs in the copy": "os.register_at_fork(after_in_child=spin)",
    "ends the copy": "os.register_at_fork(after_in_child=lambda: os._exit(0))",
    "replaces fork": "real = os.fork\nos.fork = lambda: (more(), real())[1]",
    "replaces the call below": (
        "import gc\nfor o in gc.get_objects():\n"
        "  if getattr(o, '__name__', '') == 'fork_sibling': o.__code__ = (lambda at: more()).__code__\n"
    ),
    "pretends to fork": "os.fork = lambda: 1",
    "pretends to be the copy": "os.fork = lambda: 0",
    "forks for ever": "real = os.fork\ndef often():\n  while True: more()\nos.fork = often",
}
_ARMED = """
import os
real = os.fork
def spin():
    while True: pass
def more():
    try:
        if real() == 0: spin()
    except OSError:
        pass
"""


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_an_admitted_fork_is_of_no_use_to_the_program(
    forking: LocalBox, settle: Callable[[LocalBox, int], int], hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, before = len(forking.server_pids), steady(forking, settle)
    session = forking.session()
    assert session.run(_ARMED + hook).status == "ok"
    with monkeypatch.context() as patch:
        for name in ("cell", "local"):  # a copy that hangs is given up sooner
            patch.setattr(f"toolenvs.sandbox.{name}.COPY_LIMIT_S", 1.0)
        with contextlib.suppress(ForkError), session.fork() as copy:
            assert copy.run("1 + 1", timeout_s=0.5).status in ("ok", "timeout", "crashed")
    session.close()
    before += len(forking.server_pids) - servers  # each has one process of its own below it
    assert settle(forking, before) <= before, "a process was left behind"
    with forking.session() as other:
        other.run("y = 5")
        with other.fork() as copy:
            assert copy.run("y").value == "5"


def test_a_session_without_room_for_the_copys_channels_says_so_and_lives(forking: LocalBox) -> None:
    with forking.session() as session:
        session.run("import os\nkept = []\ntry:\n    while True: kept.append(os.dup(0))\nexcept OSError: pass")
        with pytest.raises(ForkError, match="open files"):
            session.fork()
        assert session.run("len(kept) > 50").value == "True"
