"""A command as an agent, in any language: one line of JSON in for each turn, one line of JSON out.

In: {"episode", "env", "task", "turn", "text", "messages", "stop", "tools", "last_result", "reading", "max_new_tokens",
"seed"}; every line holds the whole conversation, so that a command may forget. Out: {"text": "what the policy writes"},
and, if it likes, "prompt_tokens" and "completion_tokens", and "episode" and "turn", which must then be those of the
line in. {"infrastructure": "why"} says that no turn can be had and the agent is not to blame: another try is made.
What the command writes to its standard error is shown. When its standard input ends it is to end as well.

The agent's own failure: it exits or crashes, writes anything else, writes too much or unasked, or gives no line within
`timeout_s`. It is then killed with all that it started, and started anew for the next turn of whatever episode. Not the
agent's: the machine cannot start a process, or one is killed from outside (SIGTERM; SIGKILL, as where memory runs out).
A process that ends between two turns is started again, and nobody is to blame.
"""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

from toolenvs.agents.callable import describe
from toolenvs.agents.guarded import MAX_TURN_CHARS, checked_text
from toolenvs.blueprint import Blueprint
from toolenvs.errors import AgentError, ConfigError, EngineError
from toolenvs.rollout.agent import Action, Request

MAX_LINE_BYTES = 8 * MAX_TURN_CHARS
"""Of one line out: a turn of the most characters, each escaped, and some room."""
_CHUNK_BYTES = 1 << 16
_TAIL_CHARS = 400
_SHOWN_BYTES = 1 << 16
"""Of one process's standard error; the rest is not shown."""
_SHOWN_CHARS = 200
_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
_LAST_WORDS_S = 5.0
_MOST_TOKENS = 1 << 40
"""Of a count that is believed; it is summed, and multiplied with prices."""


class Command:
    """Processes of one command, each of which answers one turn after another.

    Args:
        command: as in a shell, without its operators.
        timeout_s: wall-clock seconds of one turn; waiting for a process that is busy does not count.
        processes: how many of them. Turns of one episode go to the same process.
        show: told of what they write to their standard error, line by line; by default it is written to ours.

    Raises:
        ConfigError: there is no such program, or it is to have no process.
    """

    def __init__(
        self,
        command: str,
        *,
        timeout_s: float = 600.0,
        processes: int = 1,
        show: Callable[[str], None] | None = None,
    ) -> None:
        try:
            arguments = shlex.split(command)
        except ValueError as error:
            raise ConfigError(f"the command {command!r} cannot be read: {error}") from None
        if processes < 1:
            raise ConfigError(f"the command {command!r}: processes = {processes}: give at least 1")
        if not arguments or shutil.which(arguments[0]) is None:
            raise ConfigError(f"the command {command!r}: there is no program {arguments[:1]}; give its path")
        self._children = [_Child(arguments, timeout_s, show or _to_stderr) for _ in range(processes)]
        self._of: dict[str, _Child] = {}

    def within(self, blueprint: Blueprint) -> "Within":
        """The agent for one environment."""
        return Within(self, blueprint)

    async def ask(self, key: str, line: dict[str, Any]) -> dict[str, Any]:
        """What the episode's process answers to a line.

        Raises:
            AgentError: nothing that can be used, by the agent's own fault.
            EngineError: nothing, by the machine's.
        """
        child = self._of.get(key)
        if child is None:
            child = self._of[key] = min(self._children, key=lambda each: each.episodes)
            child.episodes += 1
        return await child.ask(line)

    def release(self, key: str) -> None:
        """The episode is over."""
        child = self._of.pop(key, None)
        if child is not None:
            child.episodes -= 1

    async def close(self) -> None:
        """End the processes. Closing twice is allowed."""
        for child in self._children:
            await child.end()


class Within:
    """A command that acts in one environment."""

    def __init__(self, command: Command, blueprint: Blueprint) -> None:
        self._command = command
        self._blueprint = blueprint

    async def act(self, request: Request) -> Action:
        """The command's turn.

        Raises:
            AgentError: see the module.
            EngineError: see the module, or the command says so itself.
        """
        line = describe(self._blueprint, request) | {"text": request.text, "messages": request.messages}
        answer = await self._command.ask(request.key, line)
        if isinstance(answer.get("infrastructure"), str):
            why = answer["infrastructure"][:_SHOWN_CHARS].encode("utf-8", "replace").decode()  # no lone surrogates
            raise EngineError(f"the agent says: {why}")
        if "text" not in answer:
            raise AgentError(f'its line has no "text": {json.dumps(answer)[:_SHOWN_CHARS]}')
        for name in ("episode", "turn"):
            if name in answer and answer[name] != line[name]:
                raise AgentError(f"it answered {name} {answer[name]!r}, and was asked for {line[name]!r}")
        return Action(
            text=checked_text(answer["text"]),
            prompt_tokens=_count(answer.get("prompt_tokens")),
            completion_tokens=_count(answer.get("completion_tokens")),
        )

    def release(self, key: str) -> None:
        """The episode is over."""
        self._command.release(key)


class _Child:
    """One process, started when it is first asked and again after it failed."""

    def __init__(self, arguments: list[str], timeout_s: float, show: Callable[[str], None]) -> None:
        self._arguments = arguments
        self._timeout_s = timeout_s
        self._show = show
        self._busy = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        """Whole lines, then None at the end of its output, or where a line is too long."""
        self._flooded = False
        self._answered = False
        self._tail = ""
        self.episodes = 0

    async def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        async with self._busy:
            try:
                answer = None
                while answer is None:  # twice at the most: a fresh process that ends has not answered
                    if self._process is None:
                        await self._start()
                    answer = await self._exchange(json.dumps(line).encode() + b"\n")
                    if answer is None:
                        await self.end(kill=True)
                self._answered = True
                return self._read(answer)
            except BaseException:  # also when cancelled: its answer would be taken for that of the next line
                await self.end(kill=True)
                raise

    async def _start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._lines, self._tail, self._flooded, self._answered = asyncio.Queue(), "", False, False
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._arguments, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError) or error.errno == 8:  # ENOEXEC
                raise ConfigError(f"the command {self._arguments[0]!r} cannot be run: {error}") from error
            raise EngineError(f"no process can be started for the agent: {error}") from error
        self._readers = [asyncio.ensure_future(self._read_lines()), asyncio.ensure_future(self._read_errors())]

    async def _exchange(self, line: bytes) -> bytes | None:
        """The line out; None where the process has ended behind an earlier answer, so that nobody was kept waiting."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        if not self._lines.empty():
            unasked = self._lines.get_nowait()
            if unasked is not None:
                raise AgentError(f"it wrote a line that nobody asked for: {_shown(unasked)}")
            if self._flooded:
                raise await self._died()
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                process.stdin.write(line)
                with contextlib.suppress(ConnectionError):  # it is gone; how, is told below
                    await process.stdin.drain()
                answer = await self._lines.get()
        except TimeoutError:
            raise AgentError(f"it gave no line within {self._timeout_s:g} s{self._said}") from None
        if answer is None:
            why = await self._died()
            if self._answered and process.returncode == 0:
                return None
            raise why
        return answer

    async def _died(self) -> Exception:
        """Why there is no line any more."""
        if self._flooded:
            return AgentError(f"it wrote a line of more than {MAX_LINE_BYTES:,} bytes")
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._process.wait()
                await self._readers[1]
        code = self._process.returncode
        if code is None:
            return AgentError(f"it closed its output and went on{self._said}")
        if -code in _OUTSIDE:
            return EngineError(f"the agent was killed from outside by {signal.Signals(-code).name}{self._said}")
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return AgentError(f"it {how}{self._said}")

    @property
    def _said(self) -> str:
        tail = " ".join(self._tail.split())
        return f"; its last words: {tail}" if tail else ""

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise AgentError(f"its line is no JSON: {_shown(line)}; logs belong on standard error") from None
        if not isinstance(answer, dict):
            raise AgentError(f"its line is no JSON object: {_shown(line)}")
        return answer

    async def _read_lines(self) -> None:
        process, lines = self._process, self._lines
        assert process is not None
        assert process.stdout is not None
        rest = bytearray()
        while chunk := await process.stdout.read(_CHUNK_BYTES):
            *whole, last = chunk.split(b"\n")
            for part in whole:
                rest += part
                if rest.strip():
                    lines.put_nowait(bytes(rest))
                rest.clear()
            rest += last
            if len(rest) > MAX_LINE_BYTES or lines.qsize() > 1:
                self._flooded = len(rest) > MAX_LINE_BYTES
                break
        lines.put_nowait(None)

    async def _read_errors(self) -> None:
        process = self._process
        assert process is not None
        assert process.stderr is not None
        room, rest = _SHOWN_BYTES, ""
        while chunk := await process.stderr.read(_CHUNK_BYTES):
            text = chunk.decode("utf-8", "replace")
            self._tail = (self._tail + text)[-_TAIL_CHARS:]
            if room <= 0:
                continue
            *whole, rest = (rest + text).split("\n")
            for line in whole:
                self._show(line)
            room -= len(chunk)
            if room <= 0:
                self._show("(the agent writes more than is shown)")
                rest = ""
        if rest:
            self._show(rest)

    async def end(self, *, kill: bool = False) -> None:
        """End the process and all that it started; where it is asked to end itself, it is given some seconds."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        if not kill:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the group outlives its leader
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # whoever left the group may hold its pipes
            async with asyncio.timeout(_LAST_WORDS_S):
                await process.wait()
        if self._readers:  # what it said last is shown as well
            await asyncio.wait(self._readers, timeout=_LAST_WORDS_S)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        transport = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()


def _to_stderr(line: str) -> None:
    print(f"agent: {line}", file=sys.stderr, flush=True)


def _shown(line: bytes) -> str:
    return repr(line[:_SHOWN_CHARS].decode("utf-8", "replace"))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else None
