"""`RemoteEpisode`: an episode that runs at a server, with the face of one that runs here."""

import secrets
import warnings
from typing import TYPE_CHECKING, Any

from toolenvs.budget import Meter, Usage
from toolenvs.episode import Episode, Turn
from toolenvs.errors import InfrastructureError, TaskError
from toolenvs.remote import wire
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author, Segment, Transcript

if TYPE_CHECKING:
    from toolenvs.remote.blueprint import RemoteBlueprint

_NOTHING = wire.State(
    stop=(),
    messages=[],
    usage={},
    success=None,
    metrics={},
    ending=None,
    reading=False,
    turns=0,
    tokens_left=None,
    segments=0,
)


class RemoteMeter(Meter):
    """What an episode has used of its limits, as its server counts."""

    def __init__(self, blueprint: "RemoteBlueprint") -> None:
        super().__init__(blueprint.page.budget)
        self.left: int | None = None

    def tokens_left(self) -> int | None:
        """How many tokens the next turn may have; None where tokens are not limited."""
        return self.left


class RemoteEpisode(Episode):
    """An episode at a server.

    A server that is dead, or has lost the session, ends it as `infrastructure`, as a dead tool would.

    Args:
        blueprint: the environment at that server.
        task: what it is about.
        seed: seed of the tools.
        progress: how far training has come, 0 to 1.
    """

    blueprint: "RemoteBlueprint"

    def __init__(self, blueprint: "RemoteBlueprint", task: Task, *, seed: int = 0, progress: float = 0.0) -> None:
        self.blueprint = blueprint
        self.task = task
        self.seed = seed
        self.progress = progress
        self.meter = RemoteMeter(blueprint)
        self.transcript = Transcript()
        self.ending = None
        self.key = new_key()
        """Of its session at the server; "" once that is gone."""
        self._now = _NOTHING
        self._number = 0

    @classmethod
    async def begin(
        cls, blueprint: "RemoteBlueprint", which: Task | str | int, *, seed: int, progress: float
    ) -> "RemoteEpisode":
        """Begin an episode there.

        Raises:
            TaskError: the server has no such task.
            InfrastructureError: the server is dead, or a tool does not work there.
        """
        asked = which.id if isinstance(which, Task) else which
        episode = cls(blueprint, Task(id=str(asked), question=""), seed=seed, progress=progress)
        body = {**blueprint.asked, "task": asked, "seed": seed, "progress": progress}
        try:
            begun = await blueprint.link.aask("begin", body, session=episode.key)
            episode._read_beginning(begun)
        except BaseException:
            episode._let_go()
            raise
        task = episode.task
        if isinstance(which, Task) and (which.question, which.golds) != (task.question, task.golds):
            await episode.close()
            raise TaskError(
                f"the server's task {task.id!r} is another than the one that was given: take tasks from the "
                "environment's own set, for others cannot be sent"
            )
        blueprint.link.keep(episode.key, episode, blueprint.lease_s)
        return episode

    def _read_beginning(self, begun: wire.Json) -> None:
        try:
            self.task = wire.task_from_json(begun["task"])
            self.transcript = Transcript().append(map(Segment.from_json, begun["transcript"]))
            self._be(wire.state_from_json(begun["state"], []))
        except wire.MALFORMED as error:
            raise self._nonsense(error) from error

    def _be(self, now: wire.State) -> None:
        if now.segments != len(self.transcript.segments):
            raise ValueError(f"the transcript has {len(self.transcript.segments)} segments here, {now.segments} there")
        self._now = now
        self.ending, self.reading = now.ending, now.reading
        self.meter.turns = now.turns
        assert isinstance(self.meter, RemoteMeter)
        self.meter.left = now.tokens_left

    def _nonsense(self, error: Exception) -> InfrastructureError:
        return InfrastructureError(f"{self.blueprint.link.url} answered with something else: {error!r}")

    @property
    def prompt(self) -> str:
        """What the policy reads first; "" where the server was dead when it should have begun."""
        return self.transcript.segments[0].text if self.transcript.segments else ""

    @property
    def success(self) -> bool | float | None:
        """See `Episode.success`."""
        return self._now.success

    @property
    def metrics(self) -> dict[str, float]:
        """See `Episode.metrics`."""
        return self._now.metrics

    @property
    def stop(self) -> tuple[str, ...]:
        """See `Episode.stop`."""
        return self._now.stop

    @property
    def messages(self) -> list[dict[str, str]]:
        """See `Episode.messages`."""
        return [dict(message) for message in self._now.messages]

    def usage(self) -> dict[str, Usage]:
        """What each budget has left, as the last answer told."""
        return dict(self._now.usage)

    async def step(
        self,
        action: str,
        *,
        exact: bool = False,
        tokens: int | None = None,
        cut_short: bool = False,
        given: int = 0,
    ) -> Turn:
        """Take one turn of the policy; see `Episode.step`."""
        if self.ending is not None:
            raise TaskError(f"the episode about {self.task.id!r} has ended ({self.ending}); reset it before stepping")
        self._number += 1
        body: dict[str, Any] = {"number": self._number, "action": action}
        body |= {"tokens": tokens} if tokens is not None else {}
        body |= {"given": given} if given else {}
        body |= {name: True for name, on in (("exact", exact), ("cut_short", cut_short)) if on}
        try:
            told = await self.blueprint.link.aask("step", body, session=self.key)
            return self._read_turn(told)
        except InfrastructureError as error:
            return self._lose(action, str(error), given)
        except BaseException:
            self.ending = "infrastructure"
            self._let_go()
            raise

    def _read_turn(self, told: wire.Json) -> Turn:
        before = self.transcript
        try:
            turn = wire.turn_from_json(told["turn"])
            self.transcript = before.append(turn.segments)
            self._be(wire.state_from_json(told["state"], self._now.messages))
        except wire.MALFORMED as error:
            self.transcript = before
            raise self._nonsense(error) from error
        return turn

    def _lose(self, action: str, fault: str, given: int = 0) -> Turn:
        """The turn whose answer never came."""
        self.meter.turns += 1
        parts = ((action[:given], False), (action[given:], True))
        written = tuple(Segment(Author.POLICY, text, self.meter.turns, scored=own) for text, own in parts if text)
        self.transcript = self.transcript.append(written)
        self.ending = "infrastructure"
        self._let_go()
        return Turn(observation="", segments=written, ending="infrastructure", fault=fault)

    async def fork(self) -> "RemoteEpisode":
        """An independent copy at the server, the tools' state included; see `Episode.fork`.

        Raises:
            InfrastructureError: the server is dead, or has lost the session.
        """
        copy = RemoteEpisode(self.blueprint, self.task, seed=self.seed, progress=self.progress)
        try:
            told = await self.blueprint.link.aask("fork", {"copy": copy.key}, session=self.key)
        except BaseException:
            copy._let_go()
            raise
        for warning in told.get("warnings") or ():
            warnings.warn(str(warning), stacklevel=2)
        copy.transcript, copy.ending, copy.reading = self.transcript, self.ending, self.reading
        copy._now = self._now
        copy.meter.__dict__.update(self.meter.__dict__)
        self.blueprint.link.keep(copy.key, copy, self.blueprint.lease_s)
        return copy

    def _let_go(self) -> None:
        """End the session if the server still has it, and wait for nothing."""
        key, self.key = self.key, ""
        if key:
            self.blueprint.link.end_some_time(key)

    async def close(self) -> None:
        """End the session. Closing twice is allowed."""
        key, self.key = self.key, ""
        if key:
            await self.blueprint.link.aend(key)


class LostEpisode(RemoteEpisode):
    """An episode that never began, for its server was dead; its first turn ends it as `infrastructure`.

    Args:
        blueprint: the environment.
        fault: what was wrong.
    """

    def __init__(self, blueprint: "RemoteBlueprint", fault: str) -> None:
        super().__init__(blueprint, Task(id="", question=""))
        self.key = ""
        self._fault = fault

    async def step(self, action: str, **_: Any) -> Turn:
        """The end."""
        if self.ending is not None:
            return await super().step(action)
        return self._lose("", self._fault)

    async def fork(self) -> "LostEpisode":
        """Another that never began."""
        copy = LostEpisode(self.blueprint, self._fault)
        copy.ending = self.ending
        return copy


def new_key() -> str:
    """An id for a session."""
    return secrets.token_hex(16)
