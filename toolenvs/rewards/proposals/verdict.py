"""What a judge says of a proposed question."""

from dataclasses import dataclass

from toolenvs.rewards.proposals.rules import Flaw
from toolenvs.rewards.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Proposal(Verdict):
    """`correct` where the question is valid, however hard it is; `extracted` is the question."""

    flaw: Flaw | None = None
    """Why it is not valid; None where it is."""
    solved: tuple[float, ...] = ()
    """Correctness of each try of the solver; empty for an invalid question, and where nobody has tried it yet."""
