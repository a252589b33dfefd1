"""Run episodes with an agent: many at once, each waiting for its own tool only."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Protocol

from toolenvs.blueprint import Blueprint
from toolenvs.codec import TokenCodec
from toolenvs.episode import Episode, Turn
from toolenvs.errors import AgentError, InfrastructureError
from toolenvs.rollout.agent import Action, Agent, Request
from toolenvs.rollout.trajectory import MAX_FILES_BYTES, CallRecord, Trajectory
from toolenvs.tasks.task import Task
from toolenvs.tokens import TokenTranscript, cut_at_stop
from toolenvs.transcript import Author, Segment, Transcript

_SEED_STEP = 1_000_003  # a prime, so that turns and episodes do not meet in one seed


async def collect(
    blueprint: Blueprint,
    agent: Agent,
    tasks: Sequence[Task],
    *,
    n: int = 1,
    seed: int = 0,
    concurrency: int = 256,
    retries: int = 1,
    progress: float = 0.0,
    on_trajectory: Callable[[Trajectory], None] | None = None,
    part: range | None = None,
) -> list[Trajectory]:
    """`n` episodes of every task.

    Args:
        blueprint: the environment; with a tokenizer, trajectories hold tokens.
        agent: who acts.
        tasks: what about.
        n: episodes of each task; they form a group.
        seed: seed of everything; equal seeds give equal trajectories, as far as the agent is deterministic.
        concurrency: episodes that run at once.
        retries: how often an episode that infrastructure ended is run again, from its beginning.
        progress: how far training has come, 0 to 1.
        on_trajectory: told of each trajectory as it ends.
        part: which of the tasks to run, by their places; their episodes are the same as where all of them are run.
            None for all.

    Returns:
        The trajectories, task by task; those that infrastructure ended to the last are among them (`failed`).
    """
    await blueprint.check()
    gate = asyncio.Semaphore(concurrency)
    width = len(str(len(tasks) * n))

    async def one(index: int) -> Trajectory:
        async with gate:
            task = tasks[index // n]
            for attempt in range(retries + 1):
                trajectory = await run_episode(
                    blueprint,
                    agent,
                    task,
                    key=f"{index:0{width}d}.{attempt}",
                    group=str(index // n),
                    seed=seed * _SEED_STEP + index,
                    progress=progress,
                )
                if not trajectory.failed:
                    break
            if on_trajectory is not None:
                on_trajectory(trajectory)
            return trajectory

    part = range(len(tasks)) if part is None else part
    async with asyncio.TaskGroup() as running:
        jobs = [running.create_task(one(index)) for place in part for index in range(place * n, (place + 1) * n)]
    return [job.result() for job in jobs]


AGENT = "agent"
"""The ending of an episode whose agent gave no turn, by its own fault: it is not solved, and is not run again."""
_NO_ROOM = Action(ids=(), cut_short=True, prompt_tokens=0, completion_tokens=0)
"""The turn of a policy whose observation filled its response to the last token."""


async def run_episode(
    blueprint: Blueprint,
    agent: Agent,
    task: Task,
    *,
    key: str = "0",
    group: str = "0",
    seed: int = 0,
    progress: float = 0.0,
    watch: "Watch | None" = None,
) -> Trajectory:
    """One episode, from the prompt to its end; `watch` is told of each turn."""
    begin = getattr(blueprint, "begin", None)  # of an environment at a server
    try:
        episode = await begin(task, seed=seed, progress=progress) if begin else None
    except InfrastructureError as error:
        return _never_begun(blueprint, task, key=key, group=group, seed=seed, fault=str(error))
    record = Record(episode or Episode(blueprint, task, seed=seed, progress=progress))
    return await play(record, agent, key=key, group=group, seed=seed, watch=watch)


def _never_begun(blueprint: Blueprint, task: Task, *, key: str, group: str, seed: int, fault: str) -> Trajectory:
    """What there is of an episode whose server was dead before its first word."""
    return Trajectory(
        key=key,
        group=group,
        env=blueprint.page.id,
        task=task.id,
        question=task.question,
        golds=task.golds,
        seed=seed,
        transcript=Transcript(),
        tokens=None,
        turn_rewards=(),
        reward_terms={},
        ending="infrastructure",
        success=None,
        fault=fault,
    )


class Watch(Protocol):
    """Whoever follows an episode turn by turn."""

    async def before(self, record: "Record") -> None:
        """A turn is about to be asked for."""
        ...

    async def after(self, record: "Record", action: Action) -> None:
        """It was written, and the environment has answered."""
        ...


async def play(
    record: "Record", agent: Agent, *, key: str, group: str, seed: int, watch: Watch | None = None
) -> Trajectory:
    """Play an episode from where it stands to its end, and close it."""
    started_s = time.perf_counter()
    episode = record.episode
    try:
        while episode.ending is None:
            try:
                if watch is not None:
                    await watch.before(record)
                request = record.request(key, seed)
                action = await record.ask(agent, request) if request.max_new_tokens != 0 else _NO_ROOM
            except InfrastructureError as error:
                return record.trajectory(key, group, started_s, ending="infrastructure", fault=str(error))
            except AgentError as error:
                return record.trajectory(key, group, started_s, ending=AGENT, fault=str(error))
            record.add(await record.take(action))
            if watch is not None:
                await watch.after(record, action)
        return record.trajectory(key, group, started_s, ending=episode.ending, fault=record.fault)
    finally:
        agent.release(key)
        await episode.close()


@dataclass(slots=True)
class _Appended:
    """Tokens of one append, as the policy reads them now."""

    author: Author
    turn: int
    ids: Sequence[int]
    version: int = 0
    kept: Sequence[int] | None = None
    """What stands in their place once they were read; None for all of them."""


@dataclass(slots=True)
class Record:
    """What is known of a running episode; `collect` and its like play one, and make a trajectory of it."""

    episode: Episode
    tokens: TokenTranscript = field(default_factory=TokenTranscript)
    earlier: list[TokenTranscript] = field(default_factory=list)
    appended: list[_Appended] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terms: dict[str, float] = field(default_factory=dict)
    calls: list[CallRecord] = field(default_factory=list)
    fault: str | None = None
    agent_seconds: list[float] = field(default_factory=list)
    asked: list[Action] = field(default_factory=list)
    files_room: int = MAX_FILES_BYTES
    tokenized: bool = True
    """False once an agent answered with text, whose tokens nobody sampled."""

    def __post_init__(self) -> None:
        codec = self.episode.blueprint.codec
        if codec is None:
            self.tokenized = False
        else:
            self.append(Segment(Author.PROMPT, self.episode.prompt), codec)

    def append(self, segment: Segment, codec: TokenCodec) -> None:
        """Encode what the policy did not write, once."""
        ids = codec.encode(segment.text, verbatim=segment.verbatim)
        kept = None if segment.kept is None else codec.encode(segment.kept, verbatim=segment.verbatim)
        self.tokens.append_environment(ids, segment.author, segment.turn)
        self.appended.append(_Appended(segment.author, segment.turn, ids, kept=kept))

    def forget(self, turn: int) -> None:
        """Begin a new sequence where the policy no longer reads all that it read before it wrote the last turn.

        What it wrote until then stands in it as context: it was sampled behind other tokens, and is trained on there.
        """
        forgotten = [part for part in self.appended if part.kept is not None and turn > part.turn + 1]
        if not forgotten:
            return
        for part in forgotten:
            part.ids, part.kept = part.kept or (), None
        if self.tokens.policy_tokens:
            self.earlier.append(self.tokens)
        self.tokens = TokenTranscript()
        for part in self.appended:
            if part.author is Author.POLICY:
                size = len(part.ids)
                context = [(0, size)]
                self.tokens.append_policy(part.ids, [0.0] * size, part.turn, unscored=context, version=part.version)
            else:
                self.tokens.append_environment(part.ids, part.author, part.turn)

    async def fork(self) -> "Record":
        """An independent copy, the tools' state included, in which all that was sampled so far is context.

        So what two copies share is trained on in one of them, the one that it was sampled in.

        Raises:
            InfrastructureError: the tools cannot be copied, and their calls cannot be run again.
        """
        fork = copy(self)
        for name in (each.name for each in fields(self)):
            if isinstance(value := getattr(self, name), list | dict):
                setattr(fork, name, copy(value))
        fork.tokens, fork.earlier = self.tokens.as_context(), []
        fork.appended = [copy(part) for part in self.appended]
        fork.episode = await self.episode.fork()
        return fork

    def request(self, key: str, seed: int) -> Request:
        """The next turn, to be asked for."""
        episode = self.episode
        turn = episode.meter.turns + 1
        self.forget(turn)
        return Request(
            key=key,
            task=episode.task,
            turn=turn,
            text=episode.transcript.read(turn).text,
            messages=episode.messages,
            last_result=self.calls[-1].result if self.calls else "",
            calls=len(self.calls),
            reading=episode.reading,
            ids=self.tokens.context() if self.tokenized else None,
            stop=episode.stop,
            max_new_tokens=episode.meter.tokens_left(),
            seed=seed * _SEED_STEP + turn,
        )

    async def ask(self, agent: Agent, request: Request) -> Action:
        """Have the agent write a turn, and note how long it took."""
        asked_s = time.perf_counter()
        action = await agent.act(request)
        self.agent_seconds.append(time.perf_counter() - asked_s)
        self.asked.append(action)
        return action

    async def take(self, action: Action) -> Turn:
        """Give the environment what an agent wrote, and append both."""
        codec = self.episode.blueprint.codec
        if action.ids is None or codec is None:
            self.tokenized = False
            return await self.episode.step(action.text, cut_short=action.cut_short)
        kept = cut_at_stop(action.ids, self.episode.stop, codec)
        ids, given = action.ids[:kept], min(action.given, kept)
        text = codec.decode(ids)
        turn = await self.episode.step(
            text,
            exact=True,
            tokens=kept,
            cut_short=action.cut_short and kept == len(action.ids),
            given=_common_length(codec.decode(ids[:given]), text),
        )
        number = self.episode.meter.turns
        unscored = [(0, given), *_unscored_tokens(turn, ids, codec.decode)]
        self.tokens.append_policy(ids, action.logprobs[:kept], number, unscored=unscored, version=action.version)
        self.appended.append(_Appended(Author.POLICY, number, ids, action.version))
        for segment in turn.segments:
            if segment.author is not Author.POLICY:
                self.append(segment, codec)
        return turn

    def add(self, turn: Turn) -> None:
        """Note what a turn paid and called."""
        self.rewards.append(turn.reward)
        self.fault = turn.fault
        for name, value in turn.reward_terms.items():
            self.terms[name] = self.terms.get(name, 0.0) + value
        self.calls += [
            CallRecord(
                turn=self.episode.meter.turns,
                tool=call.tool,
                arguments=dict(call.arguments),
                result=call.result,
                status=call.status,
                seconds=call.seconds,
                files=self.keep(call.files),
                page=dict(call.page),
            )
            for call in turn.calls
        ]

    def keep(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files that there is room for, the first ones first."""
        kept: dict[str, bytes] = {}
        for name, content in files.items():
            if len(content) <= self.files_room:
                kept[name] = content
                self.files_room -= len(content)
        return kept

    def trajectory(self, key: str, group: str, started_s: float, *, ending: str, fault: str | None) -> Trajectory:
        """All of it, as it stands."""
        episode = self.episode
        return Trajectory(
            key=key,
            group=group,
            env=episode.blueprint.page.id,
            task=episode.task.id,
            question=episode.task.question,
            golds=episode.task.golds,
            seed=episode.seed,
            transcript=episode.transcript,
            tokens=self.tokens if self.tokenized else None,
            earlier=tuple(self.earlier) if self.tokenized else (),
            turn_rewards=tuple(self.rewards),
            reward_terms=self.terms,
            ending=ending,
            success=0.0 if ending == AGENT else None if episode.success is None else float(episode.success),
            metrics=dict(episode.metrics),
            fault=fault,
            calls=tuple(self.calls),
            usage={name: float(usage.used) for name, usage in episode.usage().items()},
            seconds=time.perf_counter() - started_s,
            agent_seconds=tuple(self.agent_seconds),
            prompt_tokens=_total([action.prompt_tokens for action in self.asked]),
            completion_tokens=_total([action.completion_tokens for action in self.asked]),
        )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _common_length(one: str, other: str) -> int:
    """Characters that both begin with; ids that end within a character spell none for its first half."""
    shared = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(shared, min(len(one), len(other)))


def _unscored_tokens(turn: Turn, ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[tuple[int, int]]:
    """Token ranges that overlap the policy's unscored segments."""
    own = [segment for segment in turn.segments if segment.author is Author.POLICY]
    text, ranges, end = "".join(segment.text for segment in own), [], 0
    for segment in own:
        start, end = end, end + len(segment.text)
        if not segment.scored:
            first = _tokens_of(text[:start], ids, decode)
            straddles = decode(ids[:first]) != text[:start]
            ranges.append((first - straddles, _tokens_of(text[:end], ids, decode)))
    return ranges


def _tokens_of(text: str, ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> int:
    """Fewest of the first `ids` that spell `text` and maybe more; a character that is half spelt does not count."""
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if decode(ids[:middle]).startswith(text) else (middle + 1, high)
    return low
