"""From sequences of different lengths to padded tensors, and from one batch to micro-batches that fit in memory.

Shapes: B sequences in the batch, T tokens of the longest one.

Masks hold the three values of `toolenvs.tokens.Mask`, padding counting as the environment's. Padding is known by
length, never by token id: an end-of-text token is a token like others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from toolenvs.errors import TranscriptError
from toolenvs.tokens import Mask

_ARRAYS = ("ids", "mask", "logprobs", "rewards", "turns", "nodes")
_VALUES = sorted(map(int, Mask))
_POLICY = int(Mask.POLICY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSequence:
    """One sequence to train on, checked when it is made; all arrays are copied into their own type."""

    ids: NDArray[np.int64]
    """Token ids, [T]."""
    mask: NDArray[np.int8]
    """A `Mask` value for each token, [T]."""
    logprobs: NDArray[np.float32]
    """Log-probabilities that the sampler gave; read at policy tokens only, [T]."""
    rewards: NDArray[np.float32]
    """Reward at each token, 0 off the policy's tokens, [T]."""
    group: int = 0
    """Sequences that answer the same prompt share this number."""
    episode: int | None = None
    """Sequences of one episode share this number; None for an episode that is one sequence."""
    turns: NDArray[np.int64]
    """The policy's turn that each token is of, [T]."""
    nodes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """In a tree of episodes, the node of it that each token is of, from 1; 0 for none, [T]. Empty for all 0."""
    success: float = 0.0
    """Raw correctness of the episode."""
    cut_short: bool = False
    """Whether a limit on length ended it."""
    off_policy: bool = False
    """Whether its log-probabilities are of an earlier policy, or behind another prompt: no measure of the engine."""

    @classmethod
    def of(
        cls,
        ids: ArrayLike,
        mask: ArrayLike,
        logprobs: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        group: int = 0,
        turns: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        success: float = 0.0,
        cut_short: bool = False,
    ) -> "TokenSequence":
        """A sequence from anything that numpy reads; missing log-probabilities and rewards are zeros.

        Missing turns are counted: each run of tokens that the policy wrote is one.

        Raises:
            TranscriptError: the arrays do not fit together.
        """
        ids = np.array(ids, dtype=np.int64)
        mask = np.array(mask, dtype=np.int8)
        zeros = np.zeros(ids.shape, dtype=np.float32)
        return cls(
            ids=ids,
            mask=mask,
            logprobs=zeros if logprobs is None else np.array(logprobs, dtype=np.float32),
            rewards=zeros if rewards is None else np.array(rewards, dtype=np.float32),
            group=group,
            turns=_runs(mask) if turns is None else np.array(turns, dtype=np.int64),
            nodes=np.array([] if nodes is None else nodes, dtype=np.int64),
            success=success,
            cut_short=cut_short,
        )

    def __post_init__(self) -> None:
        if not len(self.nodes):
            object.__setattr__(self, "nodes", np.zeros(self.ids.shape, dtype=np.int64))
        shape = self.ids.shape
        if len(shape) != 1 or not shape[0] or any(getattr(self, name).shape != shape for name in _ARRAYS):
            shapes = {name: getattr(self, name).shape for name in _ARRAYS}
            raise TranscriptError(f"a sequence needs one-dimensional arrays of one length, at least 1; got {shapes}")
        if self.mask.min() < _VALUES[0] or self.mask.max() > _VALUES[-1]:  # isin() takes ten times as long
            raise TranscriptError(f"mask values are 0, 1 and 2; got {np.unique(self.mask).tolist()}")
        policy = self.mask == _POLICY
        if policy[0]:
            raise TranscriptError("the first token has nothing before it to be predicted from; its mask cannot be 1")
        if not np.isfinite(self.logprobs[policy]).all():
            raise TranscriptError("a log-probability at a policy token is not finite")
        if not np.isfinite(self.rewards).all():
            raise TranscriptError("a reward is not finite; drop the episode, it would poison its whole group")
        if self.rewards[~policy].any():
            raise TranscriptError("a reward stands on a token that the policy did not write (mask is not 1)")

    def __len__(self) -> int:
        return len(self.ids)


def _runs(mask: NDArray[np.int8]) -> NDArray[np.int64]:
    """At each token how many runs of tokens that the policy wrote have begun. # [T]"""
    written = np.atleast_1d(mask) != Mask.ENVIRONMENT
    return np.cumsum(written & ~np.concatenate([[False], written[:-1]])).astype(np.int64)


def reward_at_end(mask: ArrayLike, reward: float) -> NDArray[np.float32]:
    """Token rewards [T] with the whole reward on the last token whose mask is 1.

    Raises:
        TranscriptError: no token has mask 1, so that the reward would be lost.
    """
    mask = np.asarray(mask)
    policy = np.flatnonzero(mask == Mask.POLICY)
    if not len(policy):
        raise TranscriptError("no token was written by the policy (mask 1), so there is none to carry the reward")
    rewards = np.zeros(mask.shape, dtype=np.float32)
    rewards[policy[-1]] = reward
    return rewards


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Sequences padded on the right to a rectangle."""

    ids: Tensor
    """Token ids, int64 [B, T]."""
    mask: Tensor
    """A `Mask` value for each token, int8 [B, T]."""
    logprobs: Tensor
    """Log-probabilities of the sampler, float32 [B, T]."""
    rewards: Tensor
    """Reward at each token, float32 [B, T]."""
    groups: Tensor
    """Group of each sequence, int64 [B]."""
    turns: Tensor
    """The policy's turn that each token is of, int64 [B, T]."""
    nodes: Tensor
    """In a tree of episodes, the node of it that each token is of, from 1; 0 for none, int64 [B, T]."""
    success: Tensor
    """Raw correctness of each sequence, float32 [B]."""
    cut_short: Tensor
    """Whether a limit on length ended it, bool [B]."""
    off_policy: Tensor
    """Whether its log-probabilities are of an earlier policy, or behind another prompt, bool [B]."""
    episodes: Tensor
    """Episode of each sequence, int64 [B]; those of one episode follow one another where a batch is made."""
    lengths: Tensor
    """Tokens of each sequence without padding, int64 [B]."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def attention(self) -> Tensor:
        """1 where a token stands, 0 on padding, int64 [B, T]."""
        columns = torch.arange(self.ids.shape[1], device=self.ids.device)
        return (columns < self.lengths[:, None]).long()

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})

    def rows(self, index: Tensor) -> "Batch":
        """Some of the sequences, padded only as far as the longest of them needs."""
        width = int(self.lengths[index].max())
        chosen = {field.name: getattr(self, field.name)[index] for field in fields(self)}
        return Batch(**{name: value[:, :width] if value.ndim == 2 else value for name, value in chosen.items()})


def pad(sequences: Sequence[TokenSequence], device: torch.device | str = "cpu") -> Batch:
    """One batch of all sequences, in their order.

    Raises:
        ValueError: there is no sequence.
    """
    if not sequences:
        raise ValueError("a batch needs at least one sequence")
    lengths = [len(sequence) for sequence in sequences]

    real = np.arange(max(lengths)) < np.array(lengths)[:, None]  # [B, T]

    def rectangle(name: str, dtype: torch.dtype) -> Tensor:
        joined = np.concatenate([getattr(sequence, name) for sequence in sequences])
        padded = np.zeros(real.shape, dtype=joined.dtype)
        padded[real] = joined
        return torch.from_numpy(padded).to(dtype)

    return Batch(
        ids=rectangle("ids", torch.int64),
        mask=rectangle("mask", torch.int8),
        logprobs=rectangle("logprobs", torch.float32),
        rewards=rectangle("rewards", torch.float32),
        groups=torch.tensor([sequence.group for sequence in sequences]),
        turns=rectangle("turns", torch.int64),
        nodes=rectangle("nodes", torch.int64),
        success=torch.tensor([sequence.success for sequence in sequences], dtype=torch.float32),
        cut_short=torch.tensor([sequence.cut_short for sequence in sequences]),
        off_policy=torch.tensor([sequence.off_policy for sequence in sequences]),
        episodes=_episodes([sequence.episode for sequence in sequences]),
        lengths=torch.tensor(lengths),
    ).to(device)


def _episodes(given: Sequence[int | None]) -> Tensor:
    """A number for each sequence: the one it has, or one of its own below zero."""
    return torch.tensor([-1 - index if number is None else number for index, number in enumerate(given)])


Layout = Literal["padded", "rows", "row"]
"""How sequences lie in one forward pass: each padded to the longest; end to end in rows as long as the longest; end to
end in one row."""


def micro_batches(lengths: Sequence[int], max_tokens: int, layout: Layout = "padded") -> Iterator[list[int]]:
    """Cut sequences into micro-batches of like lengths of at most `max_tokens`, padding included.

    A sequence longer than `max_tokens` comes alone. Yields the indices of each micro-batch; each index comes once.
    """
    if layout == "rows":
        yield from _batches_of_rows(lengths, max_tokens)
        return
    chosen: list[int] = []
    held = 0
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        # Lengths rise, so the newest sequence is the one that sets the padded width.
        size = (len(chosen) + 1) * lengths[index] if layout == "padded" else held + lengths[index]
        if chosen and size > max_tokens:
            yield chosen
            chosen, held = [], 0
        chosen.append(index)
        held += lengths[index]
    if chosen:
        yield chosen


def _batches_of_rows(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Micro-batches that `pack` lays into rows as long as their longest sequence, of `max_tokens` in all."""
    chosen: list[int] = []
    room: list[int] = []  # left in each row
    width = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        place = next((place for place, left in enumerate(room) if left >= lengths[index]), None)
        if place is None and chosen and (len(room) + 1) * width > max_tokens:
            yield chosen
            chosen, room = [], []
        if not chosen:
            width = lengths[index]
        chosen.append(index)
        if place is not None and room:
            room[place] -= lengths[index]
        else:
            room.append(width - lengths[index])
    if chosen:
        yield chosen


def shares(lengths: Sequence[int], max_tokens: int, layout: Layout, rank: int, size: int) -> list[list[int]]:
    """One process's micro-batches, where `size` processes share the sequences so that each has about as many tokens.

    Every process gets as many micro-batches; those of one that has no more sequences are empty.
    """
    if size == 1:
        return list(micro_batches(lengths, max_tokens, layout))
    owned: list[list[int]] = [[] for _ in range(size)]
    loads = [0] * size
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        least = loads.index(min(loads))
        owned[least].append(index)
        loads[least] += lengths[index]
    cut = [
        [
            [own[member] for member in members]
            for members in micro_batches([lengths[i] for i in own], max_tokens, layout)
        ]
        for own in owned
    ]
    return cut[rank] + [[]] * (max(map(len, cut)) - len(cut[rank]))


def pack(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Bins of sequences that lie end to end within `capacity` tokens: first fit, longest first.

    A sequence longer than `capacity` gets a bin of its own. Returns the indices in each bin; each index comes once.
    """
    bins: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        place = next((place for place, left in enumerate(room) if left >= lengths[index]), None)
        if place is None:
            bins.append([index])
            room.append(capacity - lengths[index])
        else:
            bins[place].append(index)
            room[place] -= lengths[index]
    return bins
