"""Running a program against tests, and the verdict."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from toolenvs import sandbox
from toolenvs.errors import JudgeError, SandboxError
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.sandbox.imports import imported

from .cases import Called, Case, read
from .compare import same_output, same_value
from .driver import encode

PARALLEL = 4
"""Tests that run at once in `ajudge`."""
MAX_TIMEOUTS = 2
"""After so many tests that ran out of time the next ones are not run: they count as not passed."""
_BLOCK = re.compile(r"```[ \t]*+(?:python3?|py)?[ \t]*+\n(.*?)(?:(?<=\n)[ \t]*```|\Z)", re.DOTALL | re.IGNORECASE)
_EMPTY_PROGRAMS = ("", "pass")
_Run = tuple[str, str]  # program, standard input


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended."""

    passed: bool
    status: str
    """"passed"; "failed": another value; "error", "timeout", "memory", "output", "crashed": as a sandbox's `Result`
    says; "skipped": not run, after `MAX_TIMEOUTS`."""
    error: str | None = None
    """The last line of the program's traceback, or what ended it."""


@dataclass(frozen=True, slots=True)
class Report(Verdict):
    """A verdict over tests; `score` is the share that passed, `correct` whether all did."""

    outcomes: tuple[Outcome, ...] = ()
    """Of each test, in order; empty where there was no program."""
    total: int = 0
    """Tests there are."""

    @property
    def passed(self) -> int:
        """Tests that passed."""
        return sum(outcome.passed for outcome in self.outcomes)


def judge(*, code: str, tests: Any, timeout_s: float = 10.0, box: sandbox.Box | None = None, **options: Any) -> Report:
    """Hold a program against tests, one after another.

    Args:
        code: the program. A test of a function runs it as a module (`__name__` is not "__main__").
        tests: tables, each `{"input": ..., "output": ...}` (standard input and output) or `{"call": "f", "args": [...],
            "kwargs": {...}, "expected": ...}`; or a table of `inputs` and `outputs`. See `cases.read`.
        timeout_s: wall-clock limit of each test.
        box: where programs run; None: the process's shared one with `options` of `toolenvs.sandbox.shared`.

    Raises:
        TaskError: the tests cannot be read.
        JudgeError: the sandbox failed twice in a row: never the program's doing, so that there is no verdict.
        IsolationError, ConfigError: there is no such sandbox here.
    """
    started_s, cases = perf_counter(), read(tests)
    if not code.strip():
        return _nothing(len(cases))
    box = box or sandbox.shared(**options)
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(_SKIPPED if _spent(outcomes) else _try(box, code, case, timeout_s))
    return _report(code, outcomes, started_s)


async def ajudge(
    *, code: str, tests: Any, timeout_s: float = 10.0, box: sandbox.Box | None = None, **options: Any
) -> Report:
    """As `judge`, `PARALLEL` tests at once."""
    started_s, cases = perf_counter(), read(tests)
    if not code.strip():
        return _nothing(len(cases))
    if box is None:
        box = await asyncio.to_thread(lambda: sandbox.shared(**options))
    outcomes: list[Outcome] = []
    for start in range(0, len(cases), PARALLEL):
        some = cases[start : start + PARALLEL]
        if _spent(outcomes):
            outcomes += [_SKIPPED] * len(some)
        else:
            tried = await asyncio.gather(*(_atry(box, code, case, timeout_s) for case in some), return_exceptions=True)
            for one in tried:
                if isinstance(one, BaseException):
                    raise one
                outcomes.append(one)
    return _report(code, outcomes, started_s)


def check_solution(*, solutions: Sequence[str], tests: Any, **options: Any) -> str | None:
    """Why tests are no good, or None: each solution must pass them, and a program that does nothing must not.

    Raises:
        JudgeError: the sandbox failed.
    """
    if not solutions:
        return "there is no solution to hold against the tests"
    for number, solution in enumerate(solutions, start=1):
        report = judge(code=solution, tests=tests, **options)
        if not report.correct:
            worst = next((one for one in report.outcomes if not one.passed), None)
            why = f"; the first failure: {worst.status} {worst.error or ''}".rstrip() if worst else ""
            return f"solution {number} passes {report.passed} of its {report.total} tests{why}"
    for program in _EMPTY_PROGRAMS:
        if judge(code=program, tests=tests, **options).correct:
            return "a program that does nothing passes the tests"
    return None


def extract(response: str) -> str | None:
    """The last fenced block of Python in a response (its end may be missing), or None."""
    blocks = _BLOCK.findall(response)
    return blocks[-1].rstrip() if blocks else None


def _program(code: str, case: Case) -> _Run:
    """What runs in the sandbox, and its input. The expected value is in neither."""
    if not isinstance(case, Called):
        return code, case.input
    # The line of names lets the sandbox choose an interpreter that has them loaded.
    hint = f"#: import {', '.join(sorted(filter(str.isidentifier, imported(code))))}\n" if imported(code) else ""
    order = [encode(case.call), encode(list(case.args)), encode(dict(case.kwargs))]
    return f"{hint}{_driver()}\nmain({code!r})", json.dumps(order)


@cache
def _driver() -> str:
    return Path(__file__).with_name("driver.py").read_text("utf-8")


def _try(box: sandbox.Box, code: str, case: Case, timeout_s: float) -> Outcome:
    program, entry = _program(code, case)
    try:
        result = box.run(program, stdin=entry, timeout_s=timeout_s)
    except SandboxError:
        try:
            result = box.run(program, stdin=entry, timeout_s=timeout_s)
        except SandboxError as error:
            raise _no_verdict(error) from error
    return _outcome(result, case)


async def _atry(box: sandbox.Box, code: str, case: Case, timeout_s: float) -> Outcome:
    program, entry = _program(code, case)
    try:
        result = await box.arun(program, stdin=entry, timeout_s=timeout_s)
    except SandboxError:
        try:
            result = await box.arun(program, stdin=entry, timeout_s=timeout_s)
        except SandboxError as error:
            raise _no_verdict(error) from error
    return _outcome(result, case)


def _no_verdict(error: SandboxError) -> JudgeError:
    return JudgeError(f"no verdict on the tests: the sandbox failed twice: {error}")


def _outcome(result: sandbox.Result, case: Case) -> Outcome:
    if result.status != "ok":
        return Outcome(False, result.status, result.error)
    if isinstance(case, Called):
        passed = result.value is not None and same_value(case.expected, result.value)
    else:
        passed = same_output(case.output, result.stdout)
    if passed:
        return Outcome(True, "passed")
    return Outcome(False, "output", "it gave too much") if result.truncated else Outcome(False, "failed")


_SKIPPED = Outcome(False, "skipped")


def _spent(outcomes: Sequence[Outcome]) -> bool:
    return sum(outcome.status == "timeout" for outcome in outcomes) >= MAX_TIMEOUTS


def _nothing(total: int) -> Report:
    return Report(False, Reason.NO_ANSWER, score=0.0, total=total)


def _report(code: str, outcomes: Sequence[Outcome], started_s: float) -> Report:
    passed = sum(outcome.passed for outcome in outcomes)
    correct = passed == len(outcomes)
    reason = Reason.MATCH if correct else Reason.MISMATCH
    seconds = perf_counter() - started_s
    return Report(correct, reason, code, seconds, passed / len(outcomes), tuple(outcomes), len(outcomes))
