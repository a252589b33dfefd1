"""The Python interpreter as a tool: a fresh one for every call, or one that an episode keeps."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from toolenvs import sandbox
from toolenvs.errors import ForkError, SandboxError, ToolError
from toolenvs.sandbox.turnstile import calling_as
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.python]`."""

    session: Literal["stateless", "stateful"] = "stateless"
    """A fresh interpreter for every call, or one that keeps its state through the episode."""
    backend: str = "local"
    """Where programs run; see `toolenvs.sandbox.open`."""
    url: str = ""
    """Of the server, for the backend "remote"."""
    min_isolation: str = "fork"
    """The weakest isolation that is accepted; the strongest that works here is used."""
    timeout_s: float = 5.0
    """Wall-clock seconds that one call may take."""
    memory_mb: int = 512
    """Memory that a program may use on top of the interpreter's own."""
    output_chars: int = 65_536
    """Characters of output that leave the sandbox; the budget cuts further."""
    shows: Literal["stdout", "stdout_and_stderr"] = "stdout"
    """What a program that ended well gives."""
    echo: bool = False
    """Whether the value of a last expression is shown where nothing was printed."""
    on_error: Literal["last_line", "traceback", "output_and_traceback"] = "last_line"
    """What a program that raised gives: the last line of its traceback, all of it, or both streams."""
    on_timeout: str = "TimeoutError: the program ran longer than {timeout_s} s"
    """What a program that ran too long gives."""
    on_lost: str = "[The interpreter was restarted: what earlier calls defined is gone.]"
    """Added in its own line to the first observation after which a stateful interpreter's state is gone."""
    empty: str = ""
    """What a program without output gives."""
    strip: bool = True
    """Whether white space around the output is dropped."""
    description: str = "Runs a Python program and returns what it prints."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(0.001, timeout_s=self.timeout_s)
        at_least(1, memory_mb=self.memory_mb, output_chars=self.output_chars)


class Tool:
    """A Python interpreter. Programs run in the process-wide sandbox of these options."""

    name: ClassVar[str] = "python"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The Python program to run."}},
        "required": ["code"],
    }

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description

    def box(self) -> Any:
        """The sandbox that this process shares."""
        options = self.options
        return sandbox.shared(
            backend=options.backend,
            min_isolation=options.min_isolation,
            memory_mb=options.memory_mb,
            output_chars=options.output_chars,
            **({"url": options.url} if options.url else {}),
        )

    async def check(self) -> None:
        """Compute 6 * 7 once.

        Raises:
            SandboxError: no sandbox can be had, or it computes something else.
        """
        result = await self.box().arun("print(6 * 7)", timeout_s=max(self.options.timeout_s, 5.0))
        if result.stdout.strip() != "42":
            answer = f"{result.status} {result.stdout!r} {result.error or ''}"
            raise SandboxError(f"the sandbox answered 6 * 7 with {answer}")

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session; the sandbox is touched by its first call."""
        return Session(self, seed)

    async def close(self) -> None:
        """Nothing: the process shares the sandbox and closes it when it exits."""


class Session:
    """The interpreter of one episode."""

    def __init__(self, tool: Tool, seed: int, live: Any = None, *, broken: bool = False, caller: Any = None) -> None:
        self._tool = tool
        self._seed = seed
        self._live = live
        self._broken = broken  # by a call that had no result, and no observation has told so
        self._caller = caller or object()  # the episode with its forks: the sandbox serves episodes in turn

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run `arguments["code"]`.

        Raises:
            ToolError: there is no code, or it is no text.
            SandboxError: the sandbox failed.
        """
        code = arguments.get("code")
        if not isinstance(code, str):
            raise ToolError("the argument 'code' must be a string that holds a Python program")
        options = self._tool.options
        started_s = time.perf_counter()
        lost = False
        with calling_as(self._caller):
            if options.session == "stateless":
                result = await self._tool.box().arun(code, timeout_s=options.timeout_s, seed=self._seed)
            else:
                result, lost = await self._stateful(code)
        seconds = time.perf_counter() - started_s
        data = {
            "stdout": result.stdout,
            "stderr": result.stderr,
            "value": result.value,
            "truncated": result.truncated,
            "files": result.files,
        }
        text = _shown(result, options)
        if lost:
            text = f"{text.rstrip()}\n{options.on_lost}".lstrip("\n")
        return ToolResult(text=text, status=result.status, data=data, seconds=seconds)

    async def _stateful(self, code: str) -> tuple[Any, bool]:
        """The result, and whether what earlier calls defined is gone, as after a crash of a notebook's kernel."""
        if self._live is None:
            self._live = await self._tool.box().asession(seed=self._seed)
        try:
            result = await self._live.arun(code, timeout_s=self._tool.options.timeout_s)
        except BaseException:
            self._broken = True
            raise
        lost = result.state_lost or result.status in _ENDS_SESSION or self._broken
        self._broken = False
        return result, lost

    async def fork(self) -> "Session":
        """A copy of the interpreter as it is.

        Raises:
            ForkError: it holds threads or anything else that cannot be copied.
        """
        try:
            with calling_as(self._caller):
                live = None if self._live is None else await self._live.afork()
            return Session(self._tool, self._seed, live, broken=self._broken, caller=self._caller)
        except SandboxError as error:
            raise ForkError(str(error)) from error

    async def close(self) -> None:
        """Stop the interpreter."""
        live, self._live = self._live, None
        if live is not None:
            await live.aclose()


_ENDS_SESSION = ("crashed", "output")


def _shown(result: Any, options: Options) -> str:
    """What the model reads of a result."""
    if result.status == "timeout":
        text = options.on_timeout.replace("{timeout_s}", f"{options.timeout_s:g}")
    elif result.status == "ok":
        text = result.stdout + (result.stderr if options.shows == "stdout_and_stderr" else "")
        if options.echo and not text and result.value is not None:
            text = result.value
    elif options.on_error == "last_line":
        text = result.error or result.status
    elif options.on_error == "traceback":
        text = result.stderr or result.error or result.status
    else:
        text = result.stdout + (result.stderr or result.error or result.status)
    if options.strip:
        text = text.strip()
    return text or options.empty
