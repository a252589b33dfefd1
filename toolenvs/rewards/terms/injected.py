"""Paid once, at the end, where the agent did what a page told it."""

from dataclasses import dataclass

from toolenvs.rewards import browsing
from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "injected"; tasks say in `extra["injection"]` what their pages try."""

    penalty: float = -1.0
    """What it adds to the reward: 0 or less."""

    def __post_init__(self) -> None:
        if not self.penalty <= 0:
            raise ValueError(f"penalty = {self.penalty:g} pays for doing as a page says: give 0 or less")


class Term:
    """The penalty."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        return self._options.penalty if moment.verdict is not None and browsing.injected(moment) else 0.0
