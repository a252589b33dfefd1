"""For generated tasks: the program that each carries, and its answer. Plain, and right by construction."""

from toolenvs.coldstart.recording import Recording, Step, join
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.rewrite.base import write_box, write_code
from toolenvs.coldstart.source import Source
from toolenvs.protocols.base import Protocol


class Program:
    """One call of `task.extra["program"]`, recorded with the gold answer as its output, which the replay verifies."""

    name = "program"

    async def rewrite(self, source: Source, protocol: Protocol) -> Recording | Rejection:
        """The program, then the answer."""
        program, golds = source.task.extra.get("program"), source.task.golds
        if not isinstance(program, str):
            return Rejection(Reason.NO_SOLUTION, "the task carries no extra['program']")
        if not golds:
            return Rejection(Reason.NO_GOLD, "the task has no gold answer to record as the program's output")
        call = Step(join("A short program computes this.", write_code(protocol, program)), golds[0])
        answer = join(f"The program printed the answer, {golds[0]}.", write_box(protocol, golds[0]))
        return Recording((call, Step(answer)))
