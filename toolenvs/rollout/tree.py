"""Trees of episodes: some are played to their end, and branch at turns that a rule chooses, each branch to its own end.

A branch begins as a copy of the episode before the turn, its tools' live state included (`Episode.fork`), so nothing
that led there is computed again. TreeRL's form (Hou et al. 2025): M chains, then L rounds in which each tree branches
at its N best points with T continuations each, which makes M (1 + L N T) leaves. There a point is a token; here it is a
turn, as in Tree-GRPO (Ji et al. 2025), since a turn is what an environment can be copied before.

What two leaves share was sampled in one of them: there it has mask 1, in the other one the third value. So no token is
trained on twice, and `Trajectory.sampled_by` tells whose each turn is.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, InfrastructureError, did_you_mean
from toolenvs.rollout.agent import Action, Agent
from toolenvs.rollout.collect import Record, play, run_episode
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.seeding import stable_seed
from toolenvs.tasks.task import Task

_SEED_STEP = 1_000_003
_FIRST_BRANCHED = 2
"""A branch at the first turn would share nothing: it is another chain."""


def surprisal(action: Action, draw: float) -> float:
    """The largest -log p of a token of the turn: TreeRL's measure of a token's uncertainty."""
    return max((-logprob for logprob in action.logprobs), default=0.0)


def mean_surprisal(action: Action, draw: float) -> float:
    """The mean -log p of the turn's tokens: whether the whole turn was unlikely."""
    return -sum(action.logprobs) / max(len(action.logprobs), 1)


def uniform(action: Action, draw: float) -> float:
    """Any turn as well as any other, as in Tree-GRPO."""
    return draw


RULES: Mapping[str, Callable[[Action, float], float]] = {
    "surprisal": surprisal,
    "mean_surprisal": mean_surprisal,
    "uniform": uniform,
}
"""How well a turn suits as a branching point, from what was written and a draw from [0, 1); the largest are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How trees grow."""

    points: int = 2
    """Branching points of a tree in each round."""
    branches: int = 2
    """Further continuations of each."""
    rounds: int = 1
    """Rounds."""
    rule: str = "surprisal"
    """A key of `RULES`."""

    def __post_init__(self) -> None:
        for name in ("points", "branches", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} is out of range: at least 1 is needed")
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}; {did_you_mean(self.rule, RULES)}")

    @property
    def leaves(self) -> int:
        """Leaves of a tree."""
        return 1 + self.rounds * self.points * self.branches


async def grow(
    blueprint: Blueprint,
    agent: Agent,
    tasks: Sequence[Task],
    shape: Shape,
    *,
    n: int = 1,
    seed: int = 0,
    concurrency: int = 256,
    retries: int = 1,
    progress: float = 0.0,
    part: range | None = None,
) -> list[Trajectory]:
    """`n` trees for every task; their leaves, task by task, are one group.

    A tree whose episodes have fewer turns to branch at than it needs gets the other branches at its prompt, so that
    every tree has as many leaves. A leaf that infrastructure ended is among them (`failed`).

    Args:
        blueprint: the environment, with a tokenizer.
        agent: who acts.
        tasks: what about.
        shape: of the trees.
        n: trees of each task.
        seed: seed of everything.
        concurrency: episodes that run at once, about.
        retries: how often a tree whose first episode infrastructure ended is begun again.
        progress: how far training has come, 0 to 1.
        part: which of the tasks to run, as of `collect`.

    Raises:
        ConfigError: the blueprint has no tokenizer.
    """
    if blueprint.codec is None:
        raise ConfigError("trees share tokens: build the environment with a tokenizer")
    await blueprint.check()
    gate = asyncio.Semaphore(max(concurrency // (shape.points * shape.branches), 1))
    width = len(str(len(tasks) * n))

    async def one(index: int) -> list[Trajectory]:
        async with gate:
            for attempt in range(retries + 1):
                tree = _Tree(
                    blueprint=blueprint,
                    agent=agent,
                    task=tasks[index // n],
                    shape=shape,
                    key=f"{index:0{width}d}.{attempt}",
                    group=str(index // n),
                    seed=seed * _SEED_STEP + index,
                    progress=progress,
                )
                leaves = await tree.grow()
                if not leaves[0].failed:
                    break
            return leaves

    async with asyncio.TaskGroup() as running:
        places = range(len(tasks)) if part is None else part
        jobs = [running.create_task(one(index)) for place in places for index in range(place * n, (place + 1) * n)]
    return [leaf for job in jobs for leaf in job.result()]


@dataclass(slots=True, eq=False)
class _Point:
    """An episode as it stood before a turn."""

    record: Record
    owners: tuple[str, ...]
    """Whose the turns before it are."""
    score: float = 0.0
    forking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """An interpreter is copied once at a time."""

    def rank(self) -> tuple[float, tuple[str, ...]]:
        """The best first; of equals one by its place, since who comes first is a matter of time."""
        return -self.score, self.owners


@dataclass(slots=True, kw_only=True)
class _Tree:
    blueprint: Blueprint
    agent: Agent
    task: Task
    shape: Shape
    key: str
    group: str
    seed: int
    progress: float
    points: list[_Point] = field(default_factory=list)
    room: int = 0
    """Points that may still be chosen; worse ones are let go of as better ones come."""
    running: int = 0
    number: int = 0
    """Branches so far."""

    async def grow(self) -> list[Trajectory]:
        shape = self.shape
        self.room = shape.points * shape.rounds
        try:
            self.running += 1
            leaves = [await self._play(None, (), self.key, self.seed)]
            if leaves[0].failed:
                return leaves
            for _ in range(shape.rounds):
                chosen = await self._choose()
                starts: list[_Point | None] = [point for point in chosen for _ in range(shape.branches)]
                starts += [None] * (shape.points * shape.branches - len(starts))
                try:
                    leaves += await self._branch(starts)
                finally:
                    for point in chosen:
                        await point.record.episode.close()
            return leaves
        finally:
            self.agent.release(self._between)
            for point in self.points:
                await point.record.episode.close()

    @property
    def _between(self) -> str:
        """What is waited for while no episode of the tree runs, since the next ones will soon ask."""
        return f"{self.key}/"

    def _expect(self, key: str) -> None:
        expect = getattr(self.agent, "expect", None)  # of agents that wait for one another
        if expect is not None:
            expect(key)

    async def _choose(self) -> list[_Point]:
        """Take the best points of all that there are."""
        self.points.sort(key=_Point.rank)
        chosen, self.points = self.points[: self.shape.points], self.points[self.shape.points :]
        self.room -= self.shape.points
        await self._let_go()
        return chosen

    async def _let_go(self) -> None:
        while len(self.points) > self.room:
            worst = max(self.points, key=_Point.rank)
            self.points.remove(worst)
            await worst.record.episode.close()

    async def _branch(self, starts: Sequence[_Point | None]) -> list[Trajectory]:
        """An episode from each point, or from the prompt."""
        keys = [f"{self.key}/{self.number + index}" for index in range(len(starts))]
        seeds = [self._branch_seed(self.number + index) for index in range(len(starts))]
        self.number += len(starts)
        for key in keys:
            self._expect(key)
        self.agent.release(self._between)
        self.running += len(starts)
        async with asyncio.TaskGroup() as running:
            jobs = [
                running.create_task(self._start(start, key, seed))
                for start, key, seed in zip(starts, keys, seeds, strict=True)
            ]
        return [job.result() for job in jobs]

    def _branch_seed(self, number: int) -> int:
        return stable_seed("branch", self.seed, number) % 2**32

    async def _start(self, point: _Point | None, key: str, seed: int) -> Trajectory:
        if point is None:
            return await self._play(None, (), key, seed)
        try:
            async with point.forking:
                record = await point.record.fork()
        except InfrastructureError as error:
            self.running -= 1
            self.agent.release(key)
            failed = point.record.trajectory(key, self.group, 0.0, ending="infrastructure", fault=str(error))
            return replace(failed, seconds=0.0, sampled_by=point.owners)
        return await self._play(record, point.owners, key, seed)

    async def _play(self, record: Record | None, owners: tuple[str, ...], key: str, seed: int) -> Trajectory:
        """An episode from where it stands, or from its prompt, to its end."""
        watch = _Watch(self, owners, key, np.random.default_rng(stable_seed("branch points", seed)))
        said: dict[str, Any] = {"key": key, "group": self.group, "seed": seed, "watch": watch}
        try:
            if record is not None:
                trajectory = await play(record, self.agent, **said)
            else:
                trajectory = await run_episode(self.blueprint, self.agent, self.task, progress=self.progress, **said)
        finally:
            self.agent.release(key)  # also where it never began
            self.running -= 1
            await watch.close()
        own = (key,) * (len(trajectory.turn_rewards) - len(owners))
        return replace(trajectory, sampled_by=(*owners, *own) if owners else ())


@dataclass(slots=True)
class _Watch:
    """Keeps an episode as it stood before each turn, as far as the tree may branch there."""

    tree: _Tree
    owners: tuple[str, ...]
    key: str
    draws: np.random.Generator
    point: _Point | None = None

    async def before(self, record: Record) -> None:
        """Copy it."""
        turn = record.episode.meter.turns + 1
        if self.tree.room < 1 or turn < _FIRST_BRANCHED or turn <= len(self.owners) + bool(self.owners):
            return  # a branch's own first turn is a point that is branched at already
        try:
            own = (self.key,) * (turn - 1 - len(self.owners))
            self.point = _Point(await record.fork(), (*self.owners, *own))
        except InfrastructureError:
            self.point = None  # the episode itself can go on

    async def after(self, record: Record, action: Action) -> None:
        """Score what was written from the copy, and keep it while it is among the best."""
        tree, (point, self.point) = self.tree, (self.point, None)
        draw = float(self.draws.random())
        if point is not None:
            if action.given or not record.tokenized:
                await point.record.episode.close()
            else:
                point.score = RULES[tree.shape.rule](action, draw)
                tree.points.append(point)
                await tree._let_go()
        if record.episode.ending is not None and tree.running == 1 and tree.room >= tree.shape.points:
            tree._expect(tree._between)

    async def close(self) -> None:
        """Let go of a copy that no turn came of."""
        if self.point is not None:
            await self.point.record.episode.close()
