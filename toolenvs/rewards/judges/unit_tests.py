"""The judge that runs code, as a page uses it: the policy's program against the tests of its task."""

from dataclasses import dataclass
from typing import Any, Literal

from toolenvs.errors import TaskError
from toolenvs.rewards import unit_tests
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "unit_tests". With the reward term "outcome", `graded` pays the share that passed."""

    reads: Literal["answer", "last_turn", "policy"] = "last_turn"
    """Where the program is looked for: in what the protocol read as the answer, in the policy's last turn, or in all
    that the policy wrote. The last fenced block counts; an answer without any is the program."""
    tests: str = "tests"
    """The column of the task's row that holds its tests; its golds are solutions that pass them."""
    timeout_s: float = 10.0
    """Wall-clock seconds of each test."""
    backend: str = "local"
    """Where programs run; see `toolenvs.sandbox.open`."""
    min_isolation: str = "fork"
    """The weakest isolation that is accepted."""
    memory_mb: int = 512
    """Memory of each test on top of the interpreter's own."""
    output_chars: int = 65_536
    """Characters of output that leave the sandbox; more than any expected output has."""


class Judge:
    """See `toolenvs.rewards.unit_tests`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._box: dict[str, Any] = {
            "backend": options.backend,
            "min_isolation": options.min_isolation,
            "memory_mb": options.memory_mb,
            "output_chars": options.output_chars,
        }

    def compare(self, gold: str, answer: str) -> Verdict:
        """Whether two programs are the same text: tests belong to a task, see `check_task`."""
        same = gold.strip() == answer.strip()
        return Verdict(same, Reason.MATCH if same else Reason.MISMATCH, answer)

    def check_task(self, task: Task) -> str | None:
        """Why the task cannot be judged, or None; called when task files are loaded."""
        try:
            tests = self._tests(task)
            timeout_s = self._options.timeout_s
            return unit_tests.check_solution(solutions=task.golds, tests=tests, timeout_s=timeout_s, **self._box)
        except TaskError as error:
            return str(error)

    async def __call__(self, moment: Moment) -> unit_tests.Report:
        """Run the program of a finished episode against its task's tests.

        Raises:
            JudgeError: the sandbox failed.
            TaskError: the task's tests cannot be read.
        """
        tests, code = self._tests(moment.task), self._code(moment) or ""
        return await unit_tests.ajudge(code=code, tests=tests, timeout_s=self._options.timeout_s, **self._box)

    def _tests(self, task: Task) -> object:
        try:
            return task.extra[self._options.tests]
        except KeyError:
            raise TaskError(f"task {task.id!r} has no column {self._options.tests!r} with tests") from None

    def _code(self, moment: Moment) -> str | None:
        if self._options.reads == "answer":
            return moment.answer and (unit_tests.extract(moment.answer) or moment.answer)
        turn = moment.transcript.turn if self._options.reads == "last_turn" else None
        return unit_tests.extract(moment.transcript.policy_text(turn))
