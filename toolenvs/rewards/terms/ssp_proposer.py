"""SSP's reward of a proposer: what the solver fails at (arXiv:2510.18821); see `toolenvs.rewards.proposals.payment`.

Paid once, at the end, for the judge "proposal". A question that nobody has tried yet earns 0: `toolenvs.self_play.paid`
pays for it when its solver is done.
"""

from dataclasses import dataclass

from toolenvs.errors import PageError
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.proposals import Form, Proposal, payment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "ssp_proposer"."""

    form: Form = "failure"
    """`failure`: 1 less the share of tries that solve it; `balanced`: the most where every second try does."""
    left: float = 0.0
    right: float = 1.0
    invalid: float = 0.0
    """For a question that is not valid."""


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the page has another judge.
        """
        verdict, options = moment.verdict, self._options
        if verdict is None:
            return 0.0
        if not isinstance(verdict, Proposal):
            raise PageError("the reward term 'ssp_proposer' needs judge.name = \"proposal\"")
        if not verdict.correct:
            return options.invalid
        if not verdict.solved:
            return 0.0
        return payment(verdict.solved, options.form, left=options.left, right=options.right)
