"""What the world that a tool acts on pays, in the turn in which it pays."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "tool_reward"."""


class Term:
    """The tool's reward."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        return sum(result.reward for result in moment.new)
