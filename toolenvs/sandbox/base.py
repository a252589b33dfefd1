"""What every backend offers: a box that runs programs, and sessions that keep an interpreter."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from toolenvs.sandbox.result import Result


class Session(ABC):
    """An interpreter that keeps its globals from run to run. One run at a time.

    When a program ends or breaks the interpreter, or ignores a timeout, its result says so and the next run finds a
    fresh one: the session goes on, its state is lost.
    """

    @abstractmethod
    def run(self, code: str, *, timeout_s: float | None = None, stdin: str = "") -> Result:
        """Run `code`.

        Raises:
            SandboxError: the sandbox itself failed, or the session is closed.
        """

    @abstractmethod
    async def arun(self, code: str, *, timeout_s: float | None = None, stdin: str = "") -> Result:
        """As `run`. Cancelling kills the interpreter."""

    @abstractmethod
    def fork(self) -> "Session":
        """A copy of the session as it is now: globals, arrays and random streams, independent from then on.

        Raises:
            ForkError: the session cannot be copied; replay it instead.
        """

    @abstractmethod
    async def afork(self) -> "Session":
        """As `fork`."""

    @abstractmethod
    def close(self) -> None:
        """End the interpreter. Closing twice is fine."""

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


class Box(ABC):
    """A place where programs run. May be shared by many episodes, from several threads and event loops."""

    @abstractmethod
    def run(self, code: str, *, timeout_s: float | None = None, stdin: str = "", seed: int | None = None) -> Result:
        """Run `code` in a fresh interpreter.

        Args:
            code: a Python program; the value of a last expression is given back as `Result.value`.
            timeout_s: wall-clock limit; None: the box's.
            stdin: what the program reads.
            seed: of `random` and of NumPy's global stream; None: the box's.

        Raises:
            SandboxError: the sandbox itself failed: never the program's doing.
        """

    @abstractmethod
    async def arun(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", seed: int | None = None
    ) -> Result:
        """As `run`. Cancelling kills the program."""

    @abstractmethod
    def session(self, *, seed: int | None = None) -> Session:
        """A stateful interpreter; waits while `max_sessions` are live."""

    @abstractmethod
    async def asession(self, *, seed: int | None = None) -> Session:
        """As `session`."""

    @abstractmethod
    def close(self) -> None:
        """End everything that runs here. Closing twice is fine."""

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
