"""A bonus for a right answer whose page was opened, paid once at the end."""

from dataclasses import dataclass
from typing import Literal

from toolenvs.rewards import browsing
from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "citation"; tasks say in `extra["cites"]` where their answers stand."""

    bonus: float = 0.2
    cited: Literal["page", "line"] = "page"
    """What must have been shown: the page, or the very line."""


class Term:
    """The bonus."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            TaskError: the task does not say where its answer stands.
        """
        if moment.verdict is None or not moment.verdict.correct:
            return 0.0
        return self._options.bonus if browsing.cited(moment, self._options.cited) else 0.0
