"""Child processes: killed when they spend their time, replaced when they die, never shared with a fork."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolenvs.errors import MissingExtraError
from toolenvs.rewards import maths
from toolenvs.rewards.maths import child as children
from toolenvs.rewards.maths import pool
from toolenvs.rewards.maths.child import Child, ChildDied, Outcome
from toolenvs.rewards.verdict import Reason

SAME = (r"2\sqrt{3}", r"\sqrt{12}")
COSTLY = "+".join(rf"\sqrt{{{k}+\sin(x)}}" for k in range(2, 300))


@pytest.fixture
def fresh() -> Iterator[Child]:
    child = Child()
    yield child
    child.kill()


def test_compares(fresh: Child) -> None:
    assert fresh.ask(*SAME, deadline_s=30) is Outcome.SAME
    assert fresh.ask("1", r"\sqrt{2}", deadline_s=30) is Outcome.DIFFERENT
    assert fresh.ask("1", r"9^{9^{9}}", deadline_s=30) is Outcome.REFUSED


def test_spent_processor_time_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "CPU_BUDGET_S", 0.01)
    child = Child()
    try:
        assert child.ask(COSTLY, COSTLY + "+1", deadline_s=30) is Outcome.SPENT
        assert not child.alive
    finally:
        child.kill()


def test_a_killed_child_is_no_verdict(fresh: Child) -> None:
    fresh.ask(*SAME, deadline_s=30)
    os.kill(fresh._process.pid, signal.SIGKILL)
    with pytest.raises(ChildDied):
        fresh.ask(*SAME, deadline_s=30)


def test_a_stopped_child_is_the_machines_fault(fresh: Child) -> None:
    fresh.ask(*SAME, deadline_s=30)
    os.kill(fresh._process.pid, signal.SIGSTOP)
    with pytest.raises(ChildDied):
        fresh.ask(*SAME, deadline_s=0.2)


def test_the_judge_survives_the_death_of_its_children() -> None:
    assert maths.judge(gold=SAME[0], answer=SAME[1]).correct
    for child in list(pool._current()._idle):
        os.kill(child._process.pid, signal.SIGKILL)
    assert maths.judge(gold=SAME[0], answer=SAME[1]).correct


def test_children_that_cannot_start_are_a_judge_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_pool", pool.Pool(1))
    monkeypatch.setattr(children.sys, "executable", "/nonexistent/python")
    verdict = maths.judge(gold=SAME[0], answer=SAME[1])
    assert (verdict.reason, verdict.correct, verdict.failed) == (Reason.JUDGE_ERROR, False, True)
    assert maths.judge(gold="1/2", answer="0.5").correct, "what needs no child is still judged"


def test_a_missing_mpmath_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_pool", pool.Pool(1))
    monkeypatch.setattr(children.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[maths\]"):
        maths.judge(gold=SAME[0], answer=SAME[1])


def test_many_threads() -> None:
    with ThreadPoolExecutor(16) as executor:
        verdicts = list(
            executor.map(lambda k: maths.judge(gold=rf"\sqrt{{{4 * k + 2}}}", answer=SAME[1]).correct, range(40))
        )
    assert verdicts == [4 * k + 2 == 12 for k in range(40)]


def test_after_fork() -> None:
    assert maths.judge(gold=SAME[0], answer=SAME[1]).correct
    mine = {child._process.pid for child in pool._current()._idle}
    pid = os.fork()
    if pid == 0:
        right = maths.judge(gold=SAME[0], answer=SAME[1]).correct
        theirs = {child._process.pid for child in pool._current()._idle}
        pool._current().close()
        os._exit(0 if right and not mine & theirs else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert maths.judge(gold=SAME[0], answer=SAME[1]).correct


def test_children_die_with_their_parent() -> None:
    code = (
        "import os; from toolenvs.rewards import maths; from toolenvs.rewards.maths import pool\n"
        rf"maths.judge(gold=r'{SAME[0]}', answer=r'{SAME[1]}')"
        "\n"
        "print(*[c._process.pid for c in pool._current()._idle], flush=True); os._exit(0)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    pids = [int(pid) for pid in out.split()]
    assert pids
    for _ in range(600):
        left = [pid for pid in pids if os.path.exists(f"/proc/{pid}/stat") and not zombie(pid)]
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"still running: {left}")


def zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:  # not there, or just ended
        return True


def test_the_callers_alarm_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    signal.alarm(60)
    try:
        maths.judge(gold=SAME[0], answer=SAME[1])
        assert signal.alarm(0) > 0
        assert signal.getsignal(signal.SIGALRM) is before
    finally:
        signal.alarm(0)
