"""By rules: deterministic and offline. Each hand calculation of the solution is put before the interpreter."""

import re

from toolenvs.coldstart.recording import Recording, Step, join
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.rewrite.base import write_box, write_code
from toolenvs.coldstart.rewrite.calculations import find_calculations
from toolenvs.coldstart.source import Source
from toolenvs.protocols.base import Protocol
from toolenvs.rewards import maths

_ANNOTATION = re.compile(r"<<[^<>\n]*>>")


class Rules:
    """Writes a program in front of each `= value`, and records the value that the solution states as its output.

    The words are all kept, in their order: `so 34 + 57 = 91.` becomes `so 34 + 57`, a call, and `= 91.`. Only GSM8K's
    annotations (`<<34+57=91>>`) go, whose place the programs take. The final answer is the one that the words state,
    else the value of their last calculation.

    Args:
        min_digits: calculations whose operands have fewer digits together are left to the head.
    """

    name = "rules"

    def __init__(self, *, min_digits: int = 3) -> None:
        self._min_digits = min_digits

    async def rewrite(self, source: Source, protocol: Protocol) -> Recording | Rejection:
        """The solution with its calculations done by programs."""
        solution = _ANNOTATION.sub("", source.solution)
        if not solution.strip():
            return Rejection(Reason.NO_SOLUTION, "the source holds no text solution")
        found = find_calculations(solution)
        calculations = [calculation for calculation in found if calculation.digits >= self._min_digits]
        if not calculations:
            return Rejection(Reason.NO_CALCULATION, f"nothing is calculated with {self._min_digits} digits or more")
        answer = maths.extract(solution)
        if answer is None or find_calculations(answer):
            answer = found[-1].stated
        steps: list[Step] = []
        position = 0
        for calculation in calculations:
            words = solution[position : calculation.end]
            steps.append(Step(join(words, write_code(protocol, calculation.program)), calculation.result))
            position = calculation.end
        return Recording((*steps, Step(join(solution[position:], write_box(protocol, answer)))))
