"""Why a source gave no row."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The named reasons, in the order of the stages that give them."""

    NO_SOLUTION = "no_solution"
    """The source holds nothing that the rewriter could rewrite."""
    NO_CALCULATION = "no_calculation"
    """The solution calculates nothing that a program could do instead."""
    CUT_SHORT = "cut_short"
    """The rewriting model reached its length limit."""
    UNFINISHED = "unfinished"
    """The recording does not end with a final reply, or has one before its end."""
    NO_ANSWER = "no_answer"
    """The final reply does not state an answer as the protocol wants it."""
    MALFORMED = "malformed"
    """A call cannot be read."""
    UNKNOWN_TOOL = "unknown_tool"
    """A call names a tool that the page does not have."""
    FORGED = "forged"
    """A turn of the policy holds text in the environment's voice."""
    LEFTOVER = "leftover"
    """A turn holds protocol markers besides those of its one call or answer."""
    NO_CALL = "no_call"
    """Nothing is called anywhere: a text solution is no demonstration of tool use."""
    MISSING_OUTPUT = "missing_output"
    """A call has no recorded output, and outputs are required."""
    WRONG_OUTPUT = "wrong_output"
    """The live output of a call differs from the recorded one."""
    ENDED = "ended"
    """A budget of the page ended the episode before the recording did."""
    NO_GOLD = "no_gold"
    """The task has no gold answer to judge by."""
    WRONG_ANSWER = "wrong_answer"
    """The final answer was judged incorrect."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A reason, and what exactly was found."""

    reason: Reason
    detail: str
