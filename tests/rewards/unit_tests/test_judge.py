"""Programs against tests, honest ones and others."""

import asyncio
from typing import Any

import pytest

from toolenvs import sandbox
from toolenvs.errors import JudgeError, SandboxError, TaskError
from toolenvs.rewards import unit_tests
from toolenvs.rewards.unit_tests import judging
from toolenvs.rewards.verdict import Reason
from toolenvs.sandbox import Result

ADD = [{"call": "add", "args": [a, b], "expected": a + b} for a, b in ((2, 3), (-4, 9), (0, 0))]
SUM = [{"input": "1 2 3\n", "output": "6\n"}, {"input": "10\n", "output": "10\n"}]
SUM_PROGRAM = "import sys\nprint(sum(map(int, sys.stdin.read().split())))"


def _statuses(report: unit_tests.Report) -> list[str]:
    return [outcome.status for outcome in report.outcomes]


def test_a_right_program_passes_everything() -> None:
    report = unit_tests.judge(code="def add(a, b):\n    return a + b", tests=ADD)
    assert (report.correct, report.reason, report.passed, report.total, report.score) == (True, "match", 3, 3, 1.0)
    assert unit_tests.judge(code=SUM_PROGRAM, tests=SUM).correct


def test_a_program_that_is_right_in_part_is_not_correct_and_has_a_score() -> None:
    report = unit_tests.judge(code="def add(a, b):\n    return a - b", tests=ADD)
    assert (report.correct, report.passed, report.total, report.failed) == (False, 1, 3, False)
    assert report.score == report.value == pytest.approx(1 / 3)
    assert _statuses(report) == ["failed", "failed", "passed"]


async def test_the_asynchronous_form_says_the_same() -> None:
    for code, tests in (("def add(a, b): return a - b", ADD), (SUM_PROGRAM, SUM), ("1/0", SUM)):
        once = await unit_tests.ajudge(code=code, tests=tests)
        other = await asyncio.to_thread(lambda code=code, tests=tests: unit_tests.judge(code=code, tests=tests))
        assert (once.outcomes, once.score, once.reason) == (other.outcomes, other.score, other.reason)


@pytest.mark.parametrize(
    ("code", "test"),
    [
        (
            "class Solution:\n    def twice(self, n): return 2 * n",
            {"call": "Solution.twice", "args": [4], "expected": 8},
        ),
        ("def f(*, n): return {n}", {"call": "f", "kwargs": {"n": 1}, "expected": {1}}),
        ("def f(t): return t[0]", {"call": "f", "args": [("x",)], "expected": "x"}),
        ("import numpy as np\ndef f(n): return np.arange(n)", {"call": "f", "args": [3], "expected": [0, 1, 2]}),
        ("def f(): return 10**6000", {"call": "f", "expected": 10**6000}),
        (
            "def f(): print('noise'); return 1\nif __name__ == '__main__': 1 / 0",
            {"call": "f", "expected": 1},
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\ndef f(): return P(1).x",
            {"call": "f", "expected": 1},
        ),
        ("import sys\nsys.stdout.buffer.write(b'hi\\n')", {"input": "", "output": "hi"}),
        ("print(input())\nexit()", {"input": "a\n", "output": "a"}),
        ("if __name__ == '__main__':\n    print(1)", {"input": "", "output": "1"}),
    ],
)
def test_ways_of_writing_a_right_program(code: str, test: dict[str, Any]) -> None:
    assert _statuses(unit_tests.judge(code=code, tests=[test])) == ["passed"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("def add(a, b): return", "failed"),
        ("def add(a, b): return float(a + b)", "failed"),
        ("def add(a, b): return object()", "error"),
        ("def add(a): return a", "error"),
        ("def plus(a, b): return a + b", "error"),
        ("def add(a, b)", "error"),
        ("def add(a, b): raise SystemExit(0)", "failed"),
        ("def add(a, b):\n    while True: pass", "timeout"),
        ("def add(a, b): return 'x' * 10**6", "output"),
        ("def add(a, b): return bytearray(10**12)", "memory"),
        ("import os\nos._exit(0)", "crashed"),
    ],
)
def test_statuses_of_programs_that_fail(code: str, status: str) -> None:
    report = unit_tests.judge(code=code, tests=ADD[:1], timeout_s=2.0)
    assert (_statuses(report), report.correct, report.score) == ([status], False, 0.0)


@pytest.mark.parametrize("code", ["", "  \n"])
def test_no_program_is_no_answer(code: str) -> None:
    report = unit_tests.judge(code=code, tests=ADD)
    assert (report.correct, report.reason, report.passed, report.total, report.score) == (
        False,
        Reason.NO_ANSWER,
        0,
        3,
        0.0,
    )


def test_programs_that_never_end_do_not_hold_up_all_tests() -> None:
    report = unit_tests.judge(code="while True: pass", tests=ADD * 20, timeout_s=0.3)
    assert _statuses(report) == ["timeout"] * judging.MAX_TIMEOUTS + ["skipped"] * (60 - judging.MAX_TIMEOUTS)


class _Broken(sandbox.Box):
    """A sandbox that fails `times` times, then works."""

    def __init__(self, times: int) -> None:
        self.times = times

    def run(self, code: str, **options: Any) -> Result:
        self.times -= 1
        if self.times >= 0:
            raise SandboxError("no answer")
        return Result("ok", value='{"int": "5"}')

    async def arun(self, code: str, **options: Any) -> Result:
        return self.run(code, **options)

    def session(self, **options: Any) -> Any:
        raise NotImplementedError

    async def asession(self, **options: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        pass


async def test_a_sandbox_that_fails_gives_no_verdict() -> None:
    with pytest.raises(JudgeError, match="the sandbox failed twice: no answer"):
        unit_tests.judge(code="def add(a, b): return a + b", tests=ADD, box=_Broken(2))
    with pytest.raises(JudgeError, match="the sandbox failed twice: no answer"):
        await unit_tests.ajudge(code="def add(a, b): return a + b", tests=ADD, box=_Broken(99))
    assert unit_tests.judge(code="x", tests=ADD[:1], box=_Broken(1)).correct


def test_only_inputs_enter_the_sandbox() -> None:
    seen: list[str] = []

    class Watched(_Broken):
        def run(self, code: str, **options: Any) -> Result:
            seen.append(code + options["stdin"])
            return Result("ok", stdout="SECRET-OUT", value='"SECRET-VALUE"')

    tests = [{"input": "in", "output": "SECRET-OUT"}, {"call": "f", "args": ["in"], "expected": "SECRET-VALUE"}]
    assert unit_tests.judge(code="pass", tests=tests, box=Watched(0)).correct
    assert len(seen) == 2
    assert not any("SECRET" in text for text in seen)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ([], "at least one test"),
        ("[", "not JSON"),
        ([1], r"tests\[0\]: a table is needed"),
        ([{"output": "1", "ouput": "2"}], r"tests\[0\]: unknown key 'ouput'; did you mean 'output'"),
        ([{"input": "1"}], "give 'input' and 'output', or 'call'"),
        ([{"output": "1", "call": "f", "expected": 1}], "give 'input' and 'output', or 'call'"),
        ([{"output": 1}], "must be strings"),
        ([{"call": "f()", "expected": 1}], "'call' must be a function's name"),
        ([{"call": "f", "args": "x", "expected": 1}], "'args' must be a list"),
        ([{"call": "f"}], "'expected' is missing"),
        ([{"call": "f", "expected": object()}], "cannot be compared"),
        ({"inputs": ["1"], "outputs": []}, "of the same length"),
    ],
)
def test_tests_are_read_strictly(tests: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        unit_tests.judge(code="pass", tests=tests)


def test_tests_may_come_as_columns_or_as_json() -> None:
    assert unit_tests.judge(code="print(input())", tests={"inputs": ["a", "b"], "outputs": ["a", "b"]}).passed == 2
    columns = '{"fn_name": "add", "inputs": [[1, 2]], "outputs": [3]}'
    assert unit_tests.judge(code="def add(a, b): return a + b", tests=columns).passed == 1


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ("So:\n```python\nx = 1\n```\nand\n```py\nx = 2\n```\ndone", "x = 2"),
        ("```python\nx = 1", "x = 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("```python\n```", None),
        ("x = 1", None),
        ("```json\n{}\n```", None),
    ],
)
def test_the_last_block_of_a_response_is_the_program(response: str, code: str | None) -> None:
    assert (unit_tests.extract(response) or None) == code
