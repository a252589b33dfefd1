"""An episode as a session of the server: its turns as JSON, each with what it changed."""

import asyncio
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from toolenvs.episode import Episode, Turn
from toolenvs.errors import ToolenvsError
from toolenvs.remote import wire
from toolenvs.serve.env.envs import Env

_told: ContextVar[list[str] | None] = ContextVar("told", default=None)
"""Where the warnings of the running task go."""


class EpisodeSession:
    """One episode, and what its client knows of it.

    Args:
        env: the environment.
        episode: in that environment, at its beginning or as a copy.
        known: the messages that the client knows.
    """

    def __init__(self, env: Env, episode: Episode, known: wire.Messages) -> None:
        self.env = env
        self.episode = episode
        self._known = known
        self.begun: wire.Json = {}
        """The answer to the request that made it."""
        env.episodes += 1
        self._closed = False

    @classmethod
    async def begin(cls, env: Env, which: str | int, *, seed: int, progress: float) -> "EpisodeSession":
        """An episode about a task.

        Raises:
            TaskError: there is no such task.
        """
        task = env.blueprint.task(which)
        session = cls(env, Episode(env.blueprint, task, seed=seed, progress=progress), [])
        session.begun = {
            "task": wire.task_to_json(task),
            "transcript": [segment.to_json() for segment in session.episode.transcript.segments],
            "state": session._state(),
        }
        return session

    async def step(self, *, limit_s: float, **taken: Any) -> tuple[Turn | None, wire.Json]:
        """Take a turn, and tell of it.

        A turn that takes longer than `limit_s` ends the episode as infrastructure. What `Episode.step` refuses is told
        as an error, in an answer that stands: asked again, it is the same.
        """
        try:
            async with asyncio.timeout(limit_s) as limit:
                turn = await self.episode.step(**taken)
        except TimeoutError:
            if not limit.expired():
                raise
            fault = f"the turn took longer than {limit_s:g} s"
            turn = Turn(observation="", ending="infrastructure", fault=fault)
        except ToolenvsError as error:
            return None, failure(error)
        return turn, {"turn": wire.turn_to_json(turn), "state": self._state()}

    async def fork(self) -> "EpisodeSession":
        """An independent copy, its tools' state included; `begun` tells what was replayed."""
        with _telling() as told:
            copy = EpisodeSession(self.env, await self.episode.fork(), list(self._known))
        copy.begun = {"warnings": told}
        return copy

    def _state(self) -> wire.Json:
        now = wire.state(self.episode)
        told, self._known = wire.state_to_json(now, self._known), now.messages
        return told

    async def aclose(self) -> None:
        """End the episode and free its tools."""
        if not self._closed:
            self._closed = True
            self.env.episodes -= 1
            await self.episode.close()


def failure(error: Exception) -> wire.Json:
    """An error of the package's tree, for the client to raise again."""
    return {"error": type(error).__name__, "message": str(error)}


@contextmanager
def _telling() -> Iterator[list[str]]:
    told: list[str] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


@contextmanager
def heard_warnings() -> Iterator[None]:
    """While this lasts, warnings that tell of a replay go to the client whose copy it is, and no longer to the log.

    `warnings.catch_warnings` alone would mix up those of episodes that are copied at one time.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=".* cannot be copied ")
        before: Callable[..., Any] = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            told = _told.get()
            if told is None:
                before(message, category, *where, **more)
            else:
                told.append(str(message))

        warnings.showwarning = show
        yield
