"""What every backend offers: a box that runs programs, and sessions that keep an interpreter."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self

from toolenvs.errors import ConfigError, SandboxError, did_you_mean
from toolenvs.sandbox.result import Result

TIERS = ("fork", "namespace", "hardened")
"""Of isolation, from the weakest to the strongest."""


def check_tier(name: str) -> None:
    """Raises ConfigError: there is no such tier."""
    if name not in TIERS:
        raise ConfigError(f"sandbox: no isolation {name!r}; {did_you_mean(name, TIERS)}")


class Closing(ABC):
    """What can be closed, and is closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """End it. Closing twice is fine."""

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


class OneAtATime:
    """Refuses a second run of a session at the same time instead of mixing up answers."""

    closed = False
    """Whether the session is closed, as another thread may do until `lock` is taken."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise SandboxError("this session is busy with another run")
        if self.closed:
            self._lock.release()
            raise SandboxError("this session is closed")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Session(Closing):
    """An interpreter that keeps its globals from run to run. One run at a time.

    When a program ends or breaks the interpreter, or ignores a timeout, the session goes on with a fresh interpreter
    and its state is lost. The result says so (`Result.state_lost`). Where there was no result, because the run was
    cancelled or the sandbox failed, the next one says it. A program that stops when its time is up loses nothing.
    """

    @abstractmethod
    def run(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """Run `code`; see `Box.run` for the arguments.

        Raises:
            ConfigError: the files cannot be given to a run.
            SandboxError: the sandbox itself failed, or the session is closed.
        """

    @abstractmethod
    def arun(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Coroutine[Any, Any, Result]:
        """As `run`. Cancelling kills the interpreter."""

    @abstractmethod
    def fork(self) -> "Session":
        """A copy of the session as it is now: globals, arrays and random streams, independent from then on.

        Raises:
            ForkError: the session cannot be copied; replay it instead.
        """

    @abstractmethod
    def afork(self) -> "Coroutine[Any, Any, Session]":
        """As `fork`. Cancelling leaves the session as it is."""


class Box(Closing):
    """A place where programs run. May be shared by many episodes, from several threads and event loops.

    When more ask than there are places, callers are served in turn. A caller is what `calling_as` names (the tools name
    the episode), else the task or thread that calls.
    """

    @abstractmethod
    def run(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """Run `code` in a fresh interpreter.

        Args:
            code: a Python program; the value of a last expression is given back as `Result.value`.
            timeout_s: wall-clock limit; None: the box's.
            stdin: what the program reads.
            seed: of `random` and of NumPy's global stream; None: the box's.
            files: put into its working directory before it begins; see `toolenvs.sandbox.inputs` for what may be
                given. Where there is no room for one, the program does not run, and the result is an error.

        Raises:
            ConfigError: the files are too many or too large, a name is not plain, the tier has no folder for them, or
                the limit is not positive.
            SandboxError: the sandbox itself failed: never the program's doing.
        """

    @abstractmethod
    def arun(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """As `run`. Cancelling kills the program."""

    @abstractmethod
    def session(self, *, seed: int | None = None) -> Session:
        """A stateful interpreter; waits while `max_sessions` are live."""

    @abstractmethod
    def asession(self, *, seed: int | None = None) -> Coroutine[Any, Any, Session]:
        """As `session`."""


async def finish_first(work: "asyncio.Future[Any]") -> None:
    """Wait for `work` although this task is cancelled; cancelled once more, give it up."""
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        if not work.done():
            await work
        raise
