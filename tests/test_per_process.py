"""Things that a process shares: made once, for itself only, closed when it ends."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from toolenvs.per_process import PerProcess


class Thing:
    def close(self) -> None: ...


def test_one_for_a_key() -> None:
    shared = PerProcess[Thing]()
    first = shared.get("a", Thing)
    assert shared.get("a", Thing) is first
    assert shared.get("b", Thing) is not first
    assert len(shared) == 2


def test_threads_get_the_same() -> None:
    shared, found, start = PerProcess[Thing](), [], threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(shared.get("a", Thing))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_what_could_not_be_made_is_tried_again() -> None:
    shared = PerProcess[Thing]()

    def broken() -> Thing:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        shared.get("a", broken)
    assert isinstance(shared.get("a", Thing), Thing)


def test_a_fork_makes_its_own_while_another_thread_makes_one() -> None:
    shared, making, go_on = PerProcess[Thing](), threading.Event(), threading.Event()
    mine = shared.get("a", Thing)

    def slow() -> Thing:
        making.set()
        go_on.wait()
        return Thing()

    thread = threading.Thread(target=lambda: shared.get("slow", slow))
    thread.start()
    making.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if shared.get("a", Thing) is not mine and len(shared) == 1 else 1)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


PROGRAM = """
import os
from toolenvs.per_process import PerProcess
class Thing:
    def close(self): print("closed by", "parent" if os.getpid() == parent else "child", flush=True)
parent, shared = os.getpid(), PerProcess()
shared.get("a", Thing)
{then}
"""


@pytest.mark.parametrize(
    ("then", "closed"),
    [
        ("", "closed by parent\n"),
        ("if not os.fork(): raise SystemExit\nos.wait()", "closed by parent\n"),
        ("if not os.fork(): shared.get('a', Thing)\nelse: os.wait()", "closed by child\nclosed by parent\n"),
    ],
)
def test_a_process_closes_its_own(then: str, closed: str) -> None:
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    done = run([sys.executable, "-c", PROGRAM.format(then=then)], capture_output=True, text=True, check=True)
    assert done.stdout == closed
