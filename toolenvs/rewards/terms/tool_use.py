"""A bonus for tool use on wrong answers: the shaping of verl's ReTool recipe.

There a wrong answer scores min(-0.6, -1 + 0.1 * (num_turns - 2) / 2), where each call adds two to `num_turns`; so each
call is worth 0.1, and all of them at most 0.4.
"""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "tool_use"."""

    per_call: float = 0.1
    most: float = 0.4


class Term:
    """The bonus."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None or moment.verdict.correct:
            return 0.0
        return min(self._options.per_call * moment.calls, self._options.most)
