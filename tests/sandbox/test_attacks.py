"""Hostile programs, one file each: the first line says the safe outcome."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolenvs.sandbox.local import LocalBox

ATTACKS = sorted((Path(__file__).parent / "attacks").glob("*.py"))
BY_DESIGN = ("68", "69")  # code that shares an interpreter with the reporter can lie about its own session

# What the first line says, as the status of each cell where it is more than "nothing came through".
STATUSES = {
    "03": [("ok", "memory")],
    "15": [("output",)],
    "17": [("timeout",)],
    "18": [("timeout",)],
    "19": [("timeout",)],
    "20": [("timeout",)],
    "21": [("timeout",)],
    "25": [("ok", "timeout")],  # a stateless run waits for the thread, as an interpreter does
    "26": [("ok",)],  # in a session; the hook runs where the interpreter ends with the program
    "28": [("timeout",)],
    "61": [("crashed",)],
    "62": [("crashed",)],
    "63": [("error",)],
    "64": [("crashed",)],
    "65": [("ok",), ("ok",)],
    "67": [("crashed",)],
    "71": [("ok",)],
    "75": [("timeout",)],
    "77": [("ok",)],
    "78": [("error", "memory")],
    "79": [("timeout",)],
    "80": [("ok", "crashed")],
    "81": [("error", "memory", "crashed", "timeout")],
    "82": [("error", "memory", "crashed", "timeout")],
    "83": [("timeout",)],
    "85": [("timeout",)],
}


def cells(text: str) -> list[tuple[bool, str]]:
    """Whether a fresh session begins, and the program, for each cell."""
    pieces = re.split(r"(?m)^(#--- .*)$", text)
    out = [(True, pieces[0])]
    for mark, program in zip(pieces[1::2], pieces[2::2], strict=True):
        out.append((mark.strip() == "#--- new session", program))
    return out


def check_text(text: str, name: str) -> None:
    assert "PWNED" not in text, f"{name}: {text}"
    assert "WEAK" not in text, f"{name}: {text}"
    assert "HOST-SECRET-42" not in text, f"{name}: {text}"


@pytest.mark.parametrize("stateful", [True, False], ids=["session", "stateless"])
@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_nothing_comes_through(path: Path, stateful: bool, box, host, settle: Callable) -> None:
    number = path.stem.partition("_")[0]
    text = host.fill_in(path.read_text(), box)
    endless = ("timeout",) in STATUSES.get(number, [])
    limit_s = 1 if endless or number in ("25", "26", "81") else 20  # enough for the rest on a busy machine
    results = []
    session = box.session()
    before = settle(box, 64)
    for fresh, program in cells(text):
        if stateful:
            if fresh:
                session.close()
                session = box.session()
            results.append(session.run(program, timeout_s=limit_s))
        else:
            results.append(box.run(program, timeout_s=limit_s))
    with session:
        for result in results:
            if number not in BY_DESIGN:
                check_text(result.stdout + result.stderr, path.stem)
                assert "FORGED" not in f"{result.value}{result.error}"
            assert len(result.stdout) <= box.limits.output_chars
            assert len(result.stderr) <= box.limits.output_chars
        if stateful:
            for result, allowed in zip(results, STATUSES.get(number, []), strict=False):
                assert result.status in allowed, result
        assert host.victim.poll() is None
        assert not host.proof.exists()
    assert settle(box, before + 8) <= before + 8, "processes were left behind"
    assert box.run("print(2 + 2)").stdout == "4\n"
    with box.session() as other:
        assert other.run("6 * 7").value == "42"


def test_details_that_the_first_lines_name(box, host) -> None:
    def run(number: str):
        (path,) = (path for path in ATTACKS if path.stem.startswith(number + "_"))
        with box.session() as session:
            return [session.run(program, timeout_s=20) for _, program in cells(host.fill_in(path.read_text(), box))]

    assert run("63")[0].error == "SystemExit: 3"
    assert run("71")[0].stdout == "''\n"
    assert run("65")[1].value == "2"
    assert run("74")[0].truncated or run("74")[0].status == "memory"
    assert run("62")[0].stdout == "x\n"
    assert "forked 0" in run("01")[0].stdout
    assert run("42")[1].stdout == "2\n"


def test_nothing_outlives_the_box(host) -> None:
    conftest = sys.modules[type(host).__module__]
    box = LocalBox()
    sessions = [box.session() for _ in range(3)]
    for session in sessions:
        session.run("import threading, time\nthreading.Thread(target=lambda: time.sleep(600)).start()")
    pids = set(box.server_pids).union(*(conftest.descendants(pid) for pid in box.server_pids))
    assert len(pids) >= 4
    box.close()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
