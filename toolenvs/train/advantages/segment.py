"""Segment advantages: what a segment of a tree added, V(segment) - V(parent), where V is the mean return below.

The form that tree rollouts have in common (Envs-aware IR, ROSE, TreeRL's local part). Goes with the rollout `tree`; on
episodes that share nothing it is the return against the mean of the group.
"""

from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.advantages._groups import sequence_returns
from toolenvs.train.advantages._trees import segments


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor, *, nodes: Tensor) -> Tensor:
    """V - V_parent on every policy token; the root's V is the group's mean, and 0 in a group of one."""
    returns = sequence_returns(rewards, mask)
    found = segments(returns, nodes, groups)
    return (found.value - found.parent) * (mask == Mask.POLICY).to(returns.dtype)
