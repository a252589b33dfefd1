"""The long-lived worker of a container: a local box in it, driven over standard input and output.

Runs inside, with the same files as the host's, sent when the container starts; see `bundle`. Standard library only.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Coroutine
from functools import partial
from typing import Any

from toolenvs.errors import ConfigError, ForkError, SandboxError
from toolenvs.sandbox.base import Session
from toolenvs.sandbox.docker import frames
from toolenvs.sandbox.docker.frames import Reply, Request, Requests
from toolenvs.sandbox.local import LocalBox

_READ_BYTES = 1 << 16
_INPUT, _OUTPUT = 0, 1


class Relay:
    """Carries the host's orders to a box and its results back."""

    def __init__(self, box: LocalBox) -> None:
        self._box = box
        self._requests = Requests()
        self._sessions: dict[int, Session | None] = {}  # None: it is being made
        self._tasks: dict[int, asyncio.Task[Reply]] = {}
        self._unsent = bytearray()
        self._writing = False

    async def serve(self) -> None:
        """Obey until standard input ends, then end the process, and so the container with all that runs in it."""
        self._loop = asyncio.get_running_loop()
        for descriptor in (_INPUT, _OUTPUT):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(_INPUT, self._read)
        self._send(Reply(0, frames.READY))
        await self._loop.create_future()

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(_INPUT, _READ_BYTES)
            if not data:
                os._exit(0)
            for request in self._requests.feed(data):
                self._obey(request)

    def _obey(self, request: Request) -> None:
        if request.operation == frames.RUN:
            if request.session:
                self._sessions.setdefault(request.session, None)
            self._begin(request.nonce, self._run(request))
        elif request.operation == frames.FORK:
            self._sessions[request.seed] = None
            self._begin(request.nonce, self._fork(request))
        elif request.operation == frames.CANCEL:
            if request.nonce in self._tasks:
                self._tasks[request.nonce].cancel()
        else:
            session = self._sessions.pop(request.session, None)
            if session is not None:
                session.close()

    def _begin(self, nonce: int, work: Coroutine[Any, Any, Reply]) -> None:
        task = self._tasks[nonce] = self._loop.create_task(work)
        task.add_done_callback(partial(self._answer, nonce))  # which also hears of one that never began

    def _answer(self, nonce: int, task: asyncio.Task[Reply]) -> None:
        del self._tasks[nonce]
        try:
            reply = task.result()
        except asyncio.CancelledError:
            reply = Reply(nonce, frames.CANCELLED)
        except ForkError as error:
            reply = Reply(nonce, frames.REFUSED, error=_bytes(str(error)))
        except Exception as error:  # whatever it is, the host has to hear of it
            text = str(error) if isinstance(error, SandboxError) else f"{type(error).__name__}: {error}"
            reply = Reply(nonce, frames.FAILED, error=_bytes(text))
        self._send(reply)

    async def _run(self, request: Request) -> Reply:
        code, stdin = request.code.decode(), request.stdin.decode()
        limit_s = request.timeout_s
        if request.session:
            session = await self._session(request.session, request.seed)
            result = await session.arun(code, timeout_s=limit_s, stdin=stdin)
        else:
            result = await self._box.arun(code, timeout_s=limit_s, stdin=stdin, seed=request.seed)
        return frames.reply(request.nonce, result)

    async def _session(self, number: int, seed: int) -> Session:
        """The session of that number; it begins with its first run."""
        return self._sessions.get(number) or self._made(number, await self._box.asession(seed=seed))

    async def _fork(self, request: Request) -> Reply:
        try:
            original = self._sessions.get(request.session)
            if original is None:
                raise SandboxError("the session to copy is not there")
            self._made(request.seed, await original.afork())
        except BaseException:
            self._sessions.pop(request.seed, None)
            raise
        return Reply(request.nonce, 0)

    def _made(self, number: int, session: Session) -> Session:
        """Keep a session, unless it has been closed while it was being made."""
        if number not in self._sessions:
            session.close()
            raise SandboxError("this session is closed")
        self._sessions[number] = session
        return session

    def _send(self, reply: Reply) -> None:
        self._unsent += reply.packed()
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                sent = os.write(_OUTPUT, self._unsent)
                del self._unsent[:sent]
        except BlockingIOError:
            if not self._writing:
                self._loop.add_writer(_OUTPUT, self._write)
                self._writing = True
        else:
            if self._writing:
                self._loop.remove_writer(_OUTPUT)
                self._writing = False


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def main(settings: bytes) -> None:
    """Start the box that the host's settings ask for, say so, serve."""
    try:
        box = LocalBox(**json.loads(settings))
    except (SandboxError, ConfigError) as error:
        os.write(_OUTPUT, Reply(0, frames.FAILED, error=_bytes(str(error))).packed())
        return
    asyncio.run(Relay(box).serve())
