"""A program may lie about its own answers, as its interpreter reports them; what a judge needs is out of its reach."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs.sandbox import Result, Session
from toolenvs.sandbox.local import LocalBox

OWN, LATER = (path.read_text() for path in sorted((Path(__file__).parent / "forgeries").glob("*.py")))
CELLS = re.split(r"(?m)^#--- .*$", LATER)


@pytest.fixture
def liar(box: LocalBox) -> Iterator[Session]:
    """A session whose later answers are all forged."""
    with box.session() as session:
        session.run(CELLS[0])
        assert session.run("6 * 7").value == "FORGED"  # this one works: the rest of the file means something
        yield session


# Writes an answer of the given status and value to the control channel, then goes on with `rest`.
_FORGE = """
import os, sys
frame = sys._getframe()
while "nonce" not in frame.f_locals: frame = frame.f_back
nonce, wire = frame.f_locals["nonce"], frame.f_globals["wire"]
value = {value}
lengths = [len(value)] + [0] * (len(wire.ANSWER.unpack(bytes(wire.ANSWER.size))) - 5)
frame = wire.ANSWER.pack(wire.ANSWER_MAGIC, nonce, {status}, wire.HAS_VALUE, *lengths) + value
while frame: frame = frame[os.write(3, frame):]
{rest}
"""


def forge(rest: str = "", status: int = 0, value: str = "b'FORGED'") -> str:
    return _FORGE.format(status=status, value=value, rest=rest)


def test_its_own_answer_can_be_forged(box: LocalBox) -> None:
    with box.session() as session:
        result = session.run(OWN, timeout_s=10)
        assert (result.status, result.value, result.stdout) == ("ok", "FORGED", "printed\n")


@pytest.mark.parametrize("stateful", [True, False], ids=["session", "stateless"])
def test_the_end_of_an_interpreter_cannot_be_forged(box: LocalBox, stateful: bool) -> None:
    """What ends without an answer is never "ok", and what ends after a forged one is gone for the next run."""
    endings = {"os._exit(0)": "exited with code 0", "os._exit(7)": "exited with code 7"}
    endings |= {"import ctypes; ctypes.string_at(0)": "was ended by SIGSEGV"}
    for ending, told in endings.items():
        program = f"import os\n{ending}"
        if stateful:
            with box.session() as session:
                result = session.run(program)
        else:
            result = box.run(program)
        assert result.status == "crashed"
        assert result.error is not None
        assert told in result.error
    with box.session() as session:
        session.run("x = 5")
        assert session.run(forge("os._exit(0)")).status == "ok"
        assert session.run("x").status in ("crashed", "error")  # not "5": the interpreter that held it is gone


def test_the_verdict_of_a_timeout_cannot_be_forged(box: LocalBox, liar: Session) -> None:
    """Neither by a session that lies always, nor by an answer that comes when the time is over."""
    assert _timed_out(box.run("while True:\n    pass", timeout_s=0.5))
    late = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        break\n"
    with box.session() as session:
        result = session.run(late + forge("while True: pass"), timeout_s=0.5)  # it answers when it is interrupted
        assert _timed_out(result)
        assert result.value is None
    with box.session() as session:
        assert session.run(CELLS[0] + "def spin(*_):\n    while True: pass\nworker._run = spin").status == "ok"
        assert _timed_out(session.run("6 * 7", timeout_s=0.5))


def _timed_out(result: Result) -> bool:
    return result.status == "timeout" and result.error is not None and result.seconds >= 0.5


def test_a_status_that_does_not_exist_is_no_answer(box: LocalBox) -> None:
    for status in (3, 4, 9, 255):
        with box.session() as session:
            assert session.run(forge("while True: pass", status), timeout_s=10).status == "crashed"


def test_lengths_cannot_be_forged(box: LocalBox) -> None:
    """Streams are counted where they are read: more is killed or cut, whatever the answer says."""
    limit = box.limits.output_chars
    flood = "import os\nfor _ in range(100): os.write(1, b'x' * 65536)\n"
    with box.session() as session:
        result = session.run(flood + forge())
        assert result.status == "output"
        assert len(result.stdout) == limit
    more = f"import os\nos.write(1, b'x' * {limit + 1000})\n"
    with box.session() as session:
        result = session.run(more + forge("while True: pass"))
        assert (len(result.stdout), result.truncated) == (limit, True)  # the forged flags said that nothing was cut
    value = forge("while True: pass", value=f"b'v' * {limit + 5}")
    with box.session() as session:
        result = session.run(value)
        assert result.value is not None
        assert (len(result.value), result.truncated) == (limit, True)


def test_other_sessions_are_out_of_reach(box: LocalBox, liar: Session) -> None:
    with box.session() as other:
        assert other.run("6 * 7").value == "42"
        liar.run("1")
        assert other.run("6 * 7").value == "42"
    assert box.run("print(6 * 7)").stdout == "42\n"
    with box.session() as later:
        assert later.run(CELLS[2]).value == "42"


def test_a_judge_that_compares_outside_a_fresh_run_is_not_deceived(box: LocalBox, liar: Session) -> None:
    """Inputs go in as standard input, printed answers come out; the expected ones never enter the sandbox."""
    wrong = "import sys\nprint(int(sys.stdin.read()) + 1)\n"
    right = "import sys\nprint(int(sys.stdin.read()) * 2)\n"
    cases = {"3": "6", "-4": "-8", "10": "20"}

    def passes(program: str) -> bool:
        answers = [box.run(program, stdin=given) for given in cases]
        pairs = zip(answers, cases.values(), strict=True)
        return all(answer.status == "ok" and answer.stdout.strip() == expected for answer, expected in pairs)

    assert passes(right)
    assert not passes(wrong)
    hopeful = (CELLS[0], wrong + CELLS[0], forge("os._exit(0)"), wrong + forge("os._exit(0)"), OWN)
    assert not any(passes(program) for program in hopeful)
