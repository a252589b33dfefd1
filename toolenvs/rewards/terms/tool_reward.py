"""What the world that a tool acts on pays, in the turn in which it pays."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "tool_reward"."""

    unfinished: float = 0.0
    """What is added where an episode ends before that world says that the task is over: given up, or out of budget."""


class Term:
    """The tool's reward."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        left = moment.ending not in (None, "done", "infrastructure")
        return sum(result.reward for result in moment.new) + (self._options.unfinished if left else 0.0)
