"""Paid for every turn with a malformed call, as RAGEN's format penalty."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "malformed"."""

    penalty: float = -0.1


class Term:
    """The penalty."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        return self._options.penalty if moment.malformed else 0.0
