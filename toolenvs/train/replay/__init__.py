"""Which earlier episodes are trained on again: one file for each published strategy, chosen by the file's name.

A strategy is a module of this package with two names,

    Options     a dataclass of its settings, each with its source, which extends `base.Options`
    Strategy    made of these; see `base.Strategy`

An episode comes back as it was sampled: its log-probabilities, which the ratio of the loss is to, are those of the
policy that sampled it, however old that is by now. With `recompute_logprobs` the ratio is to the policy of today
instead, and `correction` weighs each token by today's policy over the one that sampled it, up to `correction_cap`.
To add a strategy, add a file, or name one from elsewhere as "some.module:Strategy".
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toolenvs import plugins, schema
from toolenvs.errors import ConfigError, PageError
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.train import filters
from toolenvs.train.batching import TokenSequence
from toolenvs.train.replay._memory import Group, Memory
from toolenvs.train.replay.base import Strategy
from toolenvs.train.streams import generator


def names() -> list[str]:
    """The strategies there are, in alphabetical order."""
    return plugins.names(__name__, "Strategy")


class Replay:
    """A memory of groups, and the strategy that says what of it comes back.

    A group is remembered from the step behind its own on.

    Args:
        name: of the strategy, a module of this package, or "some.module:Strategy".
        options: its settings, by name.
        seed: of its draws.

    Raises:
        ConfigError: there is no such strategy, or an option is wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any], seed: int) -> None:
        try:
            made = plugins.find(__name__, name, "Strategy", "replay")
            kind = plugins.find(__name__, *plugins.beside(name, "Options"), "replay")
            settings = schema.read(kind, options, f"replay_options of {name!r}")
        except PageError as error:
            raise ConfigError(str(error)) from None
        self._strategy: Strategy = made(settings)
        self.least = self._strategy.least
        """See `base.Strategy`."""
        self._memory = Memory(settings.capacity, settings.max_age)
        self._seed = seed
        self._step = 0
        self._versions = [0]
        self._prompts = 0
        self._new: list[Group] = []
        self._node = _FIRST_NODE

    def begin(self, step: int, prompts: int) -> int:
        """How many of the groups that a step wants are rolled out anew.

        Args:
            step: of the run, from 1.
            prompts: groups that it wants in all.
        """
        self._settle()
        self._step, self._prompts = step, prompts
        self._memory.forget(self._age)
        return self._strategy.fresh(self._memory, prompts)

    def renew(self, version: int) -> None:
        """The policy's weights are those of that version from now on; a larger number than that of those before."""
        if version > self._versions[-1]:
            self._versions.append(version)

    def _age(self, version: int) -> int:
        """How often the weights changed since those of that version; what a step left as it was is no older."""
        return len(self._versions) - bisect_right(self._versions, version)

    def tasks(self, count: int, batch: int) -> list[str]:
        """Up to `count` tasks by their ids that are to be rolled out again, in the step's rollout of that number."""
        return self._strategy.tasks(self._memory, count, generator("replay tasks", self._seed, self._step, batch))

    def observe(self, episodes: Sequence[Trajectory]) -> None:
        """Remember the groups of a rollout, whether they are trained on or not."""
        for members in filters.select("every", episodes):
            group = self._strategy.keep(Group.of(members, self._node))
            if group is not None:
                self._node = max(self._node, group.last_node)
                self._new.append(group)

    def sequences(self, groups: filters.Groups) -> tuple[list[TokenSequence], dict[str, float]]:
        """What is trained on beside the fresh groups, numbered behind those.

        Returns:
            The sequences, and what they are: `replayed`, how many episodes, and `replay_age`, in how many steps the
            policy has changed since it sampled them, on average.
        """
        fresh = [members[0].task for members in groups]
        number, episode = len(groups), sum(map(len, groups))
        draws = generator("replay", self._seed, self._step)
        made: list[TokenSequence] = []
        ages: list[int] = []
        for again in self._strategy.choose(self._memory, fresh, self._prompts, draws):
            group = number if again.joins is None else again.joins
            number += again.joins is None
            for earlier in again.episodes:
                made += [replace(one, group=group, episode=episode, off_policy=True) for one in earlier.sequences]
                ages.append(self._age(earlier.version))
                episode += 1
        told = {"replayed": float(len(ages))} | ({"replay_age": float(np.mean(ages))} if ages else {})
        return made, told

    def _settle(self) -> None:
        for group in self._new:
            self._memory.add(group)
        self._new = []

    def state_dict(self) -> dict[str, Any]:
        """The memory; taken when a step is over."""
        self._settle()
        held = (episode.version for group in self._memory.groups for episode in group.episodes)
        oldest = min(held, default=self._versions[-1])
        self._versions = self._versions[min(bisect_left(self._versions, oldest), len(self._versions) - 1) :]
        return {**self._memory.state_dict(), "node": self._node, "versions": list(self._versions)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self._new = []
        self._node = state["node"]
        self._memory.load_state_dict(state)
        known = {group.version for group in self._memory.groups} | {0}
        self._versions = list(state.get("versions", sorted(known)))  # older checkpoints tell no others


_FIRST_NODE = 1 << 32
"""Remembered episodes number their nodes from here on, above those of fresh ones: no node is in two groups."""
