"""The one interface of every tool: a name, a JSON schema, sessions that are called, forked and closed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from toolenvs.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a result that is read in a turn of its own."""

    text: str
    kept: str | None = None
    """What stays of it for later turns, once it was read; None for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call gave."""

    text: str
    """What the model will read, before the page cuts it and neutralises protocol markers in it."""
    status: str = "ok"
    """"ok", or a word of the tool's own for what went wrong ("error", "timeout", "memory", ...)."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """For programs, never shown to the model."""
    pieces: tuple[Piece, ...] = ()
    """Shown one after another in place of `text`, where the page has turns of reading (`protocol.reading_stop`)."""
    seconds: float = 0.0
    """Wall-clock time of the call."""
    ended: bool = False
    """Whether the task is over with this call, for the world that the tool acts on: the episode then ends as `done`."""
    limit: str = ""
    """What imposed that end, where it is none that the task has: "truncated" (a limit of that world), "actions" (the
    page's, of what is done in it); the episode then ends as that."""
    score: float | None = None
    """How far that world says that the task is solved, 0 to 1; None where it does not say. The last word counts."""
    reward: float = 0.0
    """What that world pays for this call."""


class ToolSession(Protocol):
    """A tool as one episode uses it. Sessions of one episode are called one after another.

    A session with an attribute `sessions` finds there all of its episode's sessions, by the page's key of each tool, as
    far as they were called: a reader of pages looks there for what the search has found.
    """

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one call.

        Raises:
            ToolError: told to the model, the episode goes on.
            InfrastructureError: the tool itself failed; the episode ends without a reward.
        """
        ...

    async def fork(self) -> "ToolSession":
        """An independent copy of the session in its present state.

        Raises:
            ForkError: the state cannot be copied; the environment replays the calls instead, and says so.
        """
        ...

    async def close(self) -> None:
        """Free what the session holds. Closing twice is allowed."""
        ...


class Tool(Protocol):
    """A tool as a page configures it; shared by many episodes at once."""

    name: ClassVar[str]
    description: str
    parameters: Mapping[str, Any]
    """JSON schema (type "object") of the arguments."""

    async def open(self, task: Task, *, seed: int, progress: float) -> ToolSession:
        """Start a session for an episode.

        Args:
            task: what the episode is about.
            seed: the same seed gives the same observations.
            progress: how far training has come, 0 to 1, for tools that follow a curriculum.
        """
        ...

    async def check(self) -> None:
        """Run once before the first episode, so that a broken tool is found before any reward is.

        Raises:
            InfrastructureError: the tool does not work here; the message says why.
        """
        ...

    async def close(self) -> None:
        """Free what all sessions share."""
        ...
