"""Batches whose episodes make several sequences: for advantages each episode counts once, however often it forgets.

Shapes: B sequences, T tokens of the longest one; E episodes, U tokens of the longest one.

An estimator compares rows with one another, so that an episode of five sequences would count five times in the mean of
its group, and four of them would lack its reward. `EpisodeRows` lays the sequences of an episode end to end: a row
then holds each of its sampled tokens once and in order, and its whole return.

    rows = EpisodeRows(batch)
    advantages = rows.split(estimate(rows.join(batch.rewards), rows.join(batch.mask), rows.groups))
"""

import torch
from torch import Tensor

from toolenvs.train.batching import Batch


class EpisodeRows:
    """Where the sequences of a batch stand in rows of one episode each.

    Args:
        batch: the sequences of one episode stand in the order in which they were sampled.
    """

    groups: Tensor
    """Group of each row, int64 [E]."""

    def __init__(self, batch: Batch) -> None:
        self._shape = batch.ids.shape
        rows: dict[int, int] = {}
        used: list[int] = []
        self._places: list[tuple[int, int, int]] = []  # of each sequence: its row, where it begins there, its length
        for episode, length in zip(batch.episodes.tolist(), batch.lengths.tolist(), strict=True):
            row = rows.setdefault(episode, len(used))
            if row == len(used):
                used.append(0)
            self._places.append((row, used[row], length))
            used[row] += length
        self._size = (len(used), max(used))
        self._one_each = len(used) == len(self._places)
        first = {row: sequence for sequence, (row, _, _) in reversed(list(enumerate(self._places)))}
        self.groups = batch.groups[torch.tensor([first[row] for row in range(len(used))], device=batch.groups.device)]

    def join(self, values: Tensor) -> Tensor:
        """What stands at the tokens of sequences [B, T], in rows [E, U]; 0 behind the end of each."""
        if self._one_each:
            return values
        joined = values.new_zeros(self._size)
        for sequence, (row, start, length) in enumerate(self._places):
            joined[row, start : start + length] = values[sequence, :length]
        return joined

    def split(self, values: Tensor) -> Tensor:
        """The inverse: what stands in rows [E, U], at the tokens of sequences [B, T]; 0 on padding."""
        if self._one_each:
            return values
        split = values.new_zeros(self._shape)
        for sequence, (row, start, length) in enumerate(self._places):
            split[sequence, :length] = values[row, start : start + length]
        return split
