"""What a proposed question earns its proposer, from how often a solver solved it."""

from collections.abc import Sequence
from typing import Literal

Form = Literal["failure", "balanced"]


def payment(solved: Sequence[float], form: Form = "failure", *, left: float = 0.0, right: float = 1.0) -> float:
    """The reward of a valid question.

    With s the mean of the tries: `failure` is 1 - s; `balanced` is 4 (left + s) (right - s) for 0 < s < 1 and else 0,
    with left 0 and right 1 the most for a question that every second try solves.

    Args:
        solved: correctness of each try, 0 to 1.
        form: which of the two.
        left: of `balanced`.
        right: of `balanced`.

    Raises:
        ValueError: there is no try.
    """
    if not solved:
        raise ValueError("a question that nobody tried earns nothing that is known; solve it first")
    rate = sum(solved) / len(solved)
    if form == "failure":
        return 1.0 - rate
    return 4.0 * (left + rate) * (right - rate) if 0.0 < rate < 1.0 else 0.0
