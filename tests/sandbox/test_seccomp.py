"""The system call filter, run instruction by instruction as the kernel runs it."""

import errno
import struct

import pytest

from toolenvs.sandbox import kernel, seccomp
from toolenvs.sandbox.syscalls import AUDIT_ARCH, numbers

ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
PID = 4321


def _run(code: bytes, number: int, arguments: tuple[int, ...] = (), arch: int | None = None) -> tuple[int, int]:
    """What a filter answers, and after how many instructions."""
    arch = AUDIT_ARCH[kernel.MACHINE] if arch is None else arch
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("=HBBI", code))
    at = value = steps = 0
    while True:
        operation, if_true, if_false, operand = program[at]
        at, steps = at + 1, steps + 1
        if operation == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x05:
            at += operand
        elif operation == 0x06:
            return operand, steps
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
            at += if_true if holds else if_false


@pytest.fixture(params=["plain", "private", "read-only", "subprocesses"])
def filtered(request: pytest.FixtureRequest) -> tuple[bytes, set[str]]:
    """A filter, and the names that it allows whatever their arguments."""
    listed = {*seccomp.ALWAYS}
    if request.param == "read-only":
        listed -= {"open", "openat"}
    if request.param in ("private", "subprocesses"):
        listed |= {*seccomp.PRIVATE_FILES}
    if request.param == "subprocesses":
        listed |= {*seccomp.SUBPROCESSES}
    template = seccomp.template(
        private_files=request.param in ("private", "subprocesses"),
        refuse_writing=request.param == "read-only",
        subprocesses=request.param == "subprocesses",
    )
    prepared = seccomp.ProcessFilter(template)
    prepared.aim(PID)
    return prepared.instructions.raw, listed


def test_what_is_listed_and_nothing_else_is_allowed(filtered: tuple[bytes, set[str]]) -> None:
    code, listed = filtered
    table = numbers()
    allowed = {table[name] for name in listed if name in table}
    conditional = {
        table[name] for name in seccomp._conditions() | {"open": [], "openat": [], "arch_prctl": []} if name in table
    }
    for number in [*range(1024), 2**30 - 1]:
        if number in allowed:
            assert _run(code, number)[0] == ALLOW, number
        elif number not in conditional:
            assert _run(code, number)[0] == REFUSE, number


def test_other_tables_of_calls_are_deadly(filtered: tuple[bytes, set[str]]) -> None:
    code, _ = filtered
    assert _run(code, numbers()["read"], arch=0x40000003)[0] == KILL
    if kernel.MACHINE == "x86_64":
        assert _run(code, 0x40000000)[0] == _run(code, 0xFFFFFFFF)[0] == KILL


def test_conditions(filtered: tuple[bytes, set[str]]) -> None:
    code, listed = filtered
    table = numbers()
    answers = {
        ("kill", (PID, 15)): ALLOW,
        ("kill", (PID, 9)): KILL,
        ("kill", (1, 15)): ALLOW if "execve" in listed else REFUSE,
        ("clone", (0x10000000,)): REFUSE,
        ("clone", (0x00010000,)): ALLOW,
        ("clone", (17,)): REFUSE,
        ("clone3", ()): 0x00050000 | errno.ENOSYS,
        ("socketpair", (1,)): ALLOW,
        ("socketpair", (2,)): REFUSE,
        ("sendto", (3, 0, 0, 0, 0)): ALLOW,
        ("sendto", (3, 0, 0, 0, 1 << 40)): REFUSE,
        ("timer_create", (0, 0)): ALLOW,
        ("timer_create", (0, 8)): REFUSE,
        ("prlimit64", (PID, 7, 0)): ALLOW,
        ("prlimit64", (1, 7, 0)): REFUSE,
        ("openat", (0, 0, 1)): ALLOW if "openat" in listed else 0x00050000 | errno.EROFS,
        ("openat", (0, 0, 0)): ALLOW,
        ("execve", ()): ALLOW if "execve" in listed else REFUSE,
    }
    assert {case: _run(code, table[case[0]], case[1])[0] for case in answers} == answers


def test_the_way_to_an_answer_is_short(filtered: tuple[bytes, set[str]]) -> None:
    """When it is loaded the kernel takes that way for every number, and that is a part of what a cell costs."""
    steps = [_run(filtered[0], number)[1] for number in range(512)]
    assert sum(steps) / len(steps) < 20
