"""What estimators for trees of episodes share: the value of each segment, and of the one that it branched from.

Shapes: B leaves (episodes), T tokens.

The value of a node is the mean return of the leaves below it. Nodes that follow one another without a branch between
them have the same leaves below them, and make one segment; its parent is the segment before it, or the root, which is
the group. Of an episode that is in no tree (all of its nodes are 0, or its own) the parent is the group.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from toolenvs.train.advantages._groups import group_mean


@dataclass(frozen=True, slots=True)
class Segments:
    """Of each token's segment; all [B, T], float."""

    value: Tensor
    """Mean return of the leaves below."""
    parent: Tensor
    """The same of the segment that it branched from."""
    root: Tensor
    """Mean return of the group; 0 in a group of one."""
    leaves: Tensor
    """How many leaves are below."""


def segments(returns: Tensor, nodes: Tensor, groups: Tensor) -> Segments:
    """The segments of a batch.

    Args:
        returns: of each leaf, [B].
        nodes: the node that each token is of, 0 for none, [B, T]; no node is in two groups.
        groups: of each leaf, [B].
    """
    paths = [list(dict.fromkeys(row.tolist())) for row in nodes]  # a node may come again where a page forgets
    paid: list[float] = returns.tolist()
    count: dict[int, int] = {}
    total: dict[int, float] = {}
    for path, reward in zip(paths, paid, strict=True):
        for node in path:
            count[node] = count.get(node, 0) + 1
            total[node] = total.get(node, 0.0) + reward
    root: list[float] = group_mean(returns, groups).tolist()
    shape = nodes.shape
    found = [torch.zeros(shape, dtype=returns.dtype, device=returns.device) for _ in range(3)]
    for row, path in enumerate(paths):
        before, leaves = root[row], 0
        value = before
        for node in path:
            if node == 0:
                continue
            if count[node] != leaves:  # paths are nested: as many leaves below are the same leaves
                before, value, leaves = value, total[node] / count[node], count[node]
            here = nodes[row] == node
            for tensor, number in zip(found, (value, before, float(leaves)), strict=True):
                tensor[row, here] = number
        alone = nodes[row] == 0
        for tensor, number in zip(found, (paid[row], root[row], 1.0), strict=True):
            tensor[row, alone] = number
    value_of, parent_of, leaves_of = found
    return Segments(value_of, parent_of, group_mean(returns, groups)[:, None].expand(shape), leaves_of)
