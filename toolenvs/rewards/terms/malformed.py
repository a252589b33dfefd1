"""Paid for every turn with a malformed call, as RAGEN's format penalty."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "malformed"."""

    penalty: float = -0.1
    statuses: tuple[str, ...] = ()
    """Statuses of a call that are paid for alike, such as "error": RAGEN's is also for an action that is none."""


class Term:
    """The penalty."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        wrong = moment.malformed or any(result.status in self._options.statuses for result in moment.new)
        return self._options.penalty if wrong else 0.0
