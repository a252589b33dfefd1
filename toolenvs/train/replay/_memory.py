"""What a replay remembers: groups of finished episodes as they were sampled, oldest first, and never more than fit.

An episode is kept as the sequences that it was trained on, so that its tokens still carry the log-probabilities of the
policy that sampled them, and as the version of that policy: the step that had changed it last.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tokens import Mask, TokenTranscript
from toolenvs.train.batching import TokenSequence
from toolenvs.train.trajectories import sequences_of_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finished episode."""

    version: int
    """Of the policy that sampled it; the newest one, where several did."""
    sequences: tuple[TokenSequence, ...]

    @property
    def success(self) -> float:
        """Raw correctness."""
        return self.sequences[0].success

    @property
    def reward(self) -> float:
        """The return, as it was trained on."""
        return float(sum(sequence.rewards.sum() for sequence in self.sequences))

    @property
    def surprisal(self) -> float:
        """Mean of -log p over the tokens that the policy sampled, in nats, under the policy that sampled them."""
        logprobs = np.concatenate([each.logprobs[each.mask == Mask.POLICY] for each in self.sequences])
        return -float(logprobs.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Episodes of one task out of one rollout."""

    task: str
    version: int
    """Of the newest policy that sampled one of them."""
    rate: float
    """Mean raw correctness, of all that were rolled out; of a later group, where that one left no episodes."""
    episodes: tuple[Episode, ...]
    """Those that are remembered; none for a group that tells only how its task stands now."""

    @classmethod
    def of(cls, members: Sequence[Trajectory], first_node: int = 0) -> "Group":
        """A group of trainable trajectories.

        Args:
            members: one of them at least.
            first_node: what the numbers of their nodes are counted from, where those of other groups are below it.
        """
        held: list[list[TokenSequence]] = [[] for _ in members]
        for one in sequences_of_groups([members]):
            nodes = one.nodes + first_node * (one.nodes > 0)
            held[one.episode or 0].append(replace(one, nodes=nodes))
        versions = [max(map(_version, member.sequences)) for member in members]
        return cls(
            task=members[0].task,
            version=max(versions),
            rate=float(np.mean([member.success or 0.0 for member in members])),
            episodes=tuple(
                Episode(version=version, sequences=tuple(sequences))
                for version, sequences in zip(versions, held, strict=True)
            ),
        )

    @property
    def last_node(self) -> int:
        """The largest number of a node; 0 where there is none."""
        return max((int(one.nodes.max()) for episode in self.episodes for one in episode.sequences), default=0)


def _version(tokens: TokenTranscript) -> int:
    """Of the newest policy that sampled some of these tokens; -1 where none did."""
    return int(tokens.versions[tokens.mask == Mask.POLICY].max(initial=-1))


class Memory:
    """Groups in the order in which they came.

    Args:
        capacity: groups that are kept; the oldest one makes room.
        max_age: how far the policy of a group may lie behind the newest one, in steps that changed it; 0 for any.
    """

    def __init__(self, capacity: int, max_age: int = 0) -> None:
        self._max_age = max_age
        self.groups: deque[Group] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self.groups)

    def add(self, group: Group) -> None:
        """Remember a group, the newest.

        One without episodes takes no place: the newest group of its task, where there is one, gets its rate.
        """
        if group.episodes:
            self.groups.append(group)
            return
        for place, known in reversed(list(enumerate(self.groups))):
            if known.task == group.task:
                self.groups[place] = replace(known, rate=group.rate)
                return

    def forget(self, age: Callable[[int], int]) -> None:
        """Drop what is too old, where `age` tells how far the policy of a version lies behind."""
        if self._max_age:
            kept = [group for group in self.groups if age(group.version) <= self._max_age]
            self.groups = deque(kept, maxlen=self.groups.maxlen)

    def episodes(self, task: str) -> list[Episode]:
        """Those of a task, oldest first."""
        return [episode for group in self.groups if group.task == task for episode in group.episodes]

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""
        return {"groups": [_plain_group(group) for group in self.groups]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.groups.clear()
        for group in map(_group, state["groups"]):
            self.add(group)


def _plain_group(group: Group) -> dict[str, Any]:
    episodes = [[episode.version, list(map(_plain, episode.sequences))] for episode in group.episodes]
    return {"task": group.task, "version": group.version, "rate": group.rate, "episodes": episodes}


def _group(values: dict[str, Any]) -> Group:
    made = [Episode(version=version, sequences=tuple(map(_sequence, held))) for version, held in values["episodes"]]
    return Group(**{**values, "episodes": tuple(made)})


def _plain(sequence: TokenSequence) -> dict[str, Any]:
    values = {field.name: getattr(sequence, field.name) for field in fields(sequence)}
    return {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _sequence(values: dict[str, Any]) -> TokenSequence:
    arrays: dict[str, Any] = {
        name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()
    }
    return TokenSequence(**arrays)
