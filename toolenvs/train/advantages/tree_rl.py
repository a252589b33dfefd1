"""TreeRL: each segment of a tree against the whole tree and against the segment that it branched from.

Hou et al. 2025, "TreeRL: LLM reinforcement learning with on-policy tree search". A leaf's return is taken against the
mean of the other leaves, V of a segment is the mean of these below it, and a segment s with L(s) leaves below it has

    A(s) = ((V(s) - V(root)) + (V(s) - V(parent))) / sqrt(L(s))

in each of the L(s) sequences that it is part of. Here a segment is trained on in one sequence only, which therefore
carries the sum over all of them: L(s) times as much. Goes with the rollout `tree`.
"""

from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.advantages._groups import group_sizes, sequence_returns
from toolenvs.train.advantages._trees import segments


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor, *, nodes: Tensor) -> Tensor:
    """sqrt(L) ((V - V_root) + (V - V_parent)) n / (n - 1), with n leaves in the group, on every policy token.

    n / (n - 1) is what taking each return against the mean of the others comes to. In a group of one V_root is 0.
    """
    returns = sequence_returns(rewards, mask)
    size = group_sizes(groups).to(returns.dtype)
    found = segments(returns, nodes, groups)
    both = (found.value - found.root) + (found.value - found.parent)
    scale = (size / (size - 1).clamp(min=1))[:, None] * found.leaves.sqrt()
    return scale * both * (mask == Mask.POLICY).to(returns.dtype)
