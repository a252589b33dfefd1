"""Questions that a policy proposes: whether one is fit to be asked, how often it is solved, and what that is worth.

Search self-play (SSP): a proposer is given an answer and searches until it can write a question for it; a solver tries
the question; the proposer is paid for what the solver fails at.
"""

from toolenvs.rewards.proposals.payment import Form, payment
from toolenvs.rewards.proposals.rules import Flaw, Rules, flaw, queries, written
from toolenvs.rewards.proposals.solving import Seeker, Solver
from toolenvs.rewards.proposals.verdict import Proposal

__all__ = ["Flaw", "Form", "Proposal", "Rules", "Seeker", "Solver", "flaw", "payment", "queries", "written"]
