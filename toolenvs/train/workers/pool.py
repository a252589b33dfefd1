"""The trainer's side of its workers: hands out episodes and weights, and replaces workers that died."""

import contextlib
import pickle
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from toolenvs import errors
from toolenvs.agents.engine import Engine, GenerateRequest, Generation, Sampling
from toolenvs.errors import EngineError
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.task import Task
from toolenvs.tokens import Mask
from toolenvs.train.engines.weights import pack_weights
from toolenvs.train.workers.cluster import Cluster, WorkerDied
from toolenvs.train.workers.worker import OK, STALE, Job, WorkerSpec

_IN_FLIGHT = 2
"""Shares that a worker with a continuous engine has at once, so that the last episodes of one do not idle it."""
_CLOSE_S = 20.0


@dataclass(slots=True, eq=False)
class _Member:
    """A worker as the pool knows it."""

    hand: Any
    open: bool = False
    version: int | None = None
    """Of the weights that it took over; None for those of the policy's folder."""
    asked: int = 0
    """Calls that it has not answered."""
    room: int = 1
    """Shares that it takes at once."""


@dataclass(slots=True, eq=False)
class _Asked:
    """A call that is not answered yet."""

    member: _Member
    method: str
    work: tuple["_Work", int] | None = None
    """Of which work it is, and its place there; None for calls about the worker itself."""


@dataclass(slots=True, eq=False)
class _Work:
    """Equal calls that any worker can answer."""

    method: str
    arguments: list[tuple[Any, ...]]
    waiting: deque[int] = field(default_factory=deque)
    answers: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting.extend(range(len(self.arguments)))


class Workers(Engine):
    """Workers of one run. As an engine, they are one that answers batches; better is to have them `collect`.

    A worker that dies is replaced, and what it was asked is asked again, of whoever is free. Work that fails again and
    again ends in an error.

    Args:
        cluster: where the workers run; closed with this.
        spec: what each is made from.
        count: how many there are.
        sampling: of training.
        episodes: that a worker is handed at a time.
        start_s: wall-clock seconds that starting a worker may take, while no other one works.

    Raises:
        ConfigError: the spec does not fit.
        EngineError: they do not start.
    """

    def __init__(
        self,
        cluster: Cluster,
        spec: WorkerSpec,
        count: int,
        *,
        sampling: Sampling | None = None,
        episodes: int = 32,
        start_s: float = 600.0,
    ) -> None:
        self._cluster = cluster
        self._spec = spec
        self._sampling = sampling or Sampling()
        self._episodes = episodes
        self._start_s = start_s
        self._weights: Any = None
        self._members: list[_Member] = []
        self._asked: dict[Any, _Asked] = {}
        self._failures = 0
        """Deaths and other failures since work was last finished."""
        self.replaced = 0
        """Workers that were started in the place of one that died."""
        try:
            for _ in range(count):
                self._start()
            self._wait_until(lambda: all(member.open for member in self._members))
        except BaseException:
            self.close()
            raise

    def collect(
        self,
        tasks: Sequence[Task],
        *,
        n: int = 1,
        test: bool = False,
        sampling: Sampling | None = None,
        **options: Any,
    ) -> list[Trajectory]:
        """As `toolenvs.rollout.collect`, by the workers.

        Args:
            tasks: what about.
            n: episodes of each task.
            test: whether the environment is that of evaluations.
            sampling: how; None for as in training.
            options: of `toolenvs.rollout.collect`; they must be picklable.

        Raises:
            EngineError: workers died again and again, or one sampled with other weights than it was given.
            InfrastructureError: a tool does not work where a worker runs.
        """
        groups = max(1, self._episodes // n)
        parts = [range(first, min(first + groups, len(tasks))) for first in range(0, len(tasks), groups)]
        job = Job(tasks=tasks, sampling=sampling or self._sampling, test=test, options={"n": n, **options})
        shared = self._cluster.share(pickle.dumps(job))
        answers = self._do("roll_out", [(shared, part) for part in parts])
        trajectories: list[Trajectory] = [one for answer in answers for one in pickle.loads(answer)]
        self._check_versions(trajectories)
        return trajectories

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """As of an engine; the batch is cut by number alone, so that who answers changes nothing."""
        size = self._episodes
        batches = [(list(requests[first : first + size]),) for first in range(0, len(requests), size)]
        return [generation for answer in self._do("generate", batches) for generation in answer]

    def push_weights(self, state_dict: Mapping[str, Tensor], version: int) -> None:
        """Give every worker these weights; one that is being started gets them when it is ready.

        Raises:
            EngineError: work is going on, or a worker refuses them.
        """
        if any(asked.work is not None for asked in self._asked.values()):
            raise EngineError(f"the weights of version {version} were pushed during a rollout: push between rollouts")
        self._wait_until(lambda: not any(member.open and member.asked for member in self._members))
        self._weights, self.version = self._cluster.share(pack_weights(state_dict)), version
        for member in self._members:
            if member.open:
                self._load(member)
        self._wait_until(self._pushed)

    def members(self) -> list[Engine]:
        """An engine for each worker that is ready, to ask it alone."""
        return [_Single(self, member) for member in self._members if self._ready(member)]

    def close(self) -> None:
        """End the workers and what they run in. A second call does nothing."""
        members, self._members = self._members, []
        closing = []
        for member in members:
            if member.open and not member.asked:
                with contextlib.suppress(WorkerDied):
                    closing.append(self._cluster.call(member.hand, "close"))
        while closing:
            ended = self._cluster.wait(closing, _CLOSE_S)
            closing = [call for call in closing if call not in ended] if ended else []
        for member in members:
            self._cluster.end(member.hand)
        self._cluster.close()

    def _do(self, method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        """The answers to calls that any worker can answer, in their order."""
        work = _Work(method, [(*given, self.version) for given in arguments])
        try:
            while len(work.answers) < len(arguments):
                while work.waiting and (member := self._free()) is not None:
                    number = work.waiting.popleft()
                    self._ask(member, method, *work.arguments[number], work=(work, number))
                if not self._members:
                    raise EngineError("the workers were closed; open others")
                self._advance()
        finally:
            for asked in self._asked.values():  # where it was interrupted: nobody waits for these any more
                asked.work = None if asked.work is not None and asked.work[0] is work else asked.work
        return [work.answers[number] for number in range(len(arguments))]

    def _advance(self) -> None:
        """Wait until a call ends, and act upon it."""
        ended = self._cluster.wait(list(self._asked), self._start_s)
        if not ended and all(asked.method in ("open", "load") for asked in self._asked.values()):
            ready = sum(member.open for member in self._members)
            raise EngineError(
                f"{ready} of {len(self._members)} workers started within {self._start_s:g} s; does the cluster have "
                "the cores (worker_cpus) and GPUs (worker_gpus) for all of them?"
            )
        for call in ended:
            asked = self._asked.pop(call, None)
            if asked is None:  # of a worker that was replaced a moment ago
                continue
            asked.member.asked -= 1
            try:
                kind, value = self._cluster.result(call)
            except WorkerDied as death:
                self._give_back(asked)
                self._replace(asked.member, str(death))
                continue
            self._answered(asked, kind, value)

    def _answered(self, asked: _Asked, kind: str, value: Any) -> None:
        member = asked.member
        if kind == STALE:
            self._give_back(asked)
            self._fail(value)
            if member.version is not None:  # else it is being loaded already
                self._load(member)
        elif kind != OK:
            name, words = value
            raise getattr(errors, name, EngineError)(words)
        elif asked.method == "open":
            member.open = True
            self.max_context, continuous = value
            member.room = _IN_FLIGHT if continuous else 1
            if self._weights is not None:
                self._load(member)
        elif asked.method == "load":
            member.version = value
        elif asked.work is not None:
            work, number = asked.work
            work.answers[number] = value
            self._failures = 0

    def _start(self) -> None:
        member = _Member(self._cluster.start())
        self._members.append(member)
        self._ask(member, "open", self._spec)

    def _load(self, member: _Member) -> None:
        member.version = None
        self._ask(member, "load", self._weights, self.version)

    def _ask(self, member: _Member, method: str, *arguments: Any, work: tuple[_Work, int] | None = None) -> None:
        member.asked += 1
        self._asked[self._cluster.call(member.hand, method, *arguments)] = _Asked(member, method, work)

    def _free(self) -> _Member | None:
        """The worker with the least to do that takes more; None where there is none."""
        free = [member for member in self._members if self._ready(member) and member.asked < member.room]
        return min(free, key=lambda member: member.asked, default=None)

    def _ready(self, member: _Member) -> bool:
        return member.open and (self._weights is None or member.version == self.version)

    def _pushed(self) -> bool:
        """Whether every worker that runs has the newest weights, and one does."""
        return any(map(self._ready, self._members)) and all(map(self._ready, filter(_is_open, self._members)))

    def _wait_until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._advance()

    def _give_back(self, asked: _Asked) -> None:
        """What was asked is asked again, before what nobody was asked yet."""
        if asked.work is not None:
            work, number = asked.work
            work.waiting.appendleft(number)

    def _replace(self, member: _Member, why: str) -> None:
        """Start another worker in the place of one that died; all that it was asked is asked again."""
        if member not in self._members:
            return
        self._members.remove(member)
        for call, asked in list(self._asked.items()):
            if asked.member is member:
                del self._asked[call]
                self._give_back(asked)
        self._cluster.end(member.hand)
        self._fail(why)
        self.replaced += 1
        self._start()

    def _fail(self, why: str) -> None:
        self._failures += 1
        if self._failures > 3 + 2 * len(self._members):
            raise EngineError(f"{self._failures} workers failed one after another, and nothing was finished: {why}")

    def _check_versions(self, trajectories: Sequence[Trajectory]) -> None:
        for trajectory in trajectories:
            for tokens in trajectory.sequences:
                versions = set(tokens.versions[tokens.mask == Mask.POLICY].tolist())
                if versions - {self.version}:
                    raise EngineError(
                        f"episode {trajectory.key} was sampled with the weights of {sorted(versions)}, not of version "
                        f"{self.version} alone"
                    )


class _Single(Engine):
    """One worker as an engine."""

    def __init__(self, pool: Workers, member: _Member) -> None:
        self._pool, self._member = pool, member
        self.version, self.max_context = pool.version, pool.max_context

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """By this worker; where it dies, by another."""
        pool = self._pool
        work = _Work("generate", [(list(requests), pool.version)])
        if self._member in pool._members:
            pool._ask(self._member, "generate", *work.arguments[0], work=(work, work.waiting.popleft()))
            pool._wait_until(lambda: bool(work.answers or work.waiting))
        generations: list[Generation] = work.answers[0] if work.answers else pool.generate(requests)
        return generations

    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        """Refused: weights go to all workers."""
        raise EngineError("one worker alone gets no weights: push to all of them")


def _is_open(member: _Member) -> bool:
    return member.open
