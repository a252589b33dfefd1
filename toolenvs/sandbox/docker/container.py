"""The host's side of one container: starts it, sends calls, hands out replies. Total on whatever comes from inside."""

import contextlib
import json
import os
import secrets
import threading
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict

from toolenvs.errors import SandboxError
from toolenvs.sandbox.docker import bundle, frames
from toolenvs.sandbox.docker.channel import Channel
from toolenvs.sandbox.docker.engine import Engine
from toolenvs.sandbox.docker.frames import GarbageError, Replies, Reply, Request, Streams
from toolenvs.sandbox.docker.options import Options
from toolenvs.sandbox.limits import Limits

BOOT_LIMIT_S = 120.0
ANSWER_LIMIT_S = 120.0
"""How long after a program's own limit its reply is waited for: a fork server may have to start first."""
_STDOUT = 1
_KEPT_BYTES = 4096
_COMMAND = ["python3", "-I", "-c", bundle.BOOT]


class Container:
    """One container and the calls that run in it. Thread-safe."""

    def __init__(self, engine: Engine, options: Options, limits: Limits, seed: int, tier: str) -> None:
        """Start it and wait until it serves.

        Raises:
            ConfigError: the image or the runtime is not there.
            SandboxError: it does not come up; the message says why.
        """
        self._engine = engine
        self._lock = threading.Lock()
        self._pending: dict[int, Future[Reply]] = {}
        self._failure = ""
        self._said = b""  # the end of its standard error
        self._replies = Replies(limits.output_chars)
        self._closed = False
        self.sessions = 0
        """Sessions that live in it."""
        self.id = engine.create(options, _COMMAND)
        try:
            self._channel = Channel(engine.attach(self.id))
            _CONTAINERS.add(self)
            ready = self._expect(0)
            self._reader = threading.Thread(target=self._read, name="sandbox-docker", daemon=True)
            self._reader.start()
            engine.start(self.id)
            settings = json.dumps({"tier": tier, "seed": seed, **asdict(limits)}).encode()
            self._write(bundle.code() + bundle.part(settings))
            answer = self.wait(ready, BOOT_LIMIT_S)
            if answer.status != frames.READY:
                raise SandboxError(f"the container of the docker sandbox did not start: {answer.text()}")
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        """Whether it serves, as far as can be told without asking it."""
        return not self._failure

    @property
    def load(self) -> int:
        """Calls and sessions that it carries."""
        return len(self._pending) + self.sessions

    def call(self, request: Request) -> "Future[Reply]":
        """Send an order that is replied to.

        Raises:
            SandboxError: the container is dead.
        """
        future = self._expect(request.nonce)
        self._write(request.packed())
        return future

    def tell(self, request: Request) -> None:
        """Send an order that is not replied to; nothing when the container is dead."""
        with contextlib.suppress(SandboxError):
            self._write(request.packed())

    def wait(self, future: "Future[Reply]", limit_s: float) -> Reply:
        """The reply to a call.

        Raises:
            SandboxError: the container died, or did not reply in time and is given up.
        """
        try:
            return future.result(limit_s)
        except FutureTimeoutError:
            self.give_up(limit_s)
            return future.result()

    def give_up(self, limit_s: float) -> None:
        """Take it for dead, since it did not answer for so long."""
        self._fail(f"it did not answer within {limit_s:g} s")

    def close(self) -> None:
        """Kill and remove it. Closing twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._fail("it was closed")
        with contextlib.suppress(SandboxError):
            self._engine.remove(self.id)
        if hasattr(self, "_reader") and self._reader is not threading.current_thread():
            self._reader.join()
        if hasattr(self, "_channel"):
            self._channel.release()

    def abandon(self) -> None:
        """In a forked child of the host: let go of what belongs to the parent."""
        self._failure = "it belongs to the parent process"
        self._closed = True
        self._channel.release()

    def _expect(self, nonce: int) -> "Future[Reply]":
        future: Future[Reply] = Future()
        future.set_running_or_notify_cancel()  # whoever waits may go away; the reply comes all the same
        with self._lock:
            if self._failure:
                raise SandboxError(self._failure)
            self._pending[nonce] = future
        return future

    def _write(self, data: bytes) -> None:
        try:
            self._channel.write(data)
        except OSError as error:
            self._fail(f"its connection broke ({error})")
            raise SandboxError(self._failure) from error

    def _read(self) -> None:
        streams = Streams()
        try:
            while data := self._channel.read():
                for kind, piece in streams.feed(data):
                    if kind == _STDOUT:
                        for reply in self._replies.feed(piece):
                            self._take(reply)
                    else:
                        self._said = (self._said + piece)[-_KEPT_BYTES:]
            self._fail("it ended")
        except GarbageError as error:
            self._fail(f"it sent garbage ({error})")
        with contextlib.suppress(SandboxError):
            self._engine.remove(self.id)  # one that misbehaves need not end by itself

    def _take(self, reply: Reply) -> None:
        with self._lock:
            future = self._pending.pop(reply.nonce, None)
        if future is None:
            raise GarbageError("an answer that nobody waits for")
        future.set_result(reply)

    def _fail(self, reason: str) -> None:
        """From now on it is dead: whoever waits hears why."""
        with self._lock:
            if self._failure:
                return
            said = self._said.decode("utf-8", "replace").strip().rpartition("\n")[2]
            self._failure = f"the container of the docker sandbox is gone: {reason}{said and ': '}{said}"
            pending, self._pending = self._pending, {}
        if hasattr(self, "_channel"):
            self._channel.close()
        for future in pending.values():
            future.set_exception(SandboxError(self._failure))


def new_nonce() -> int:
    """What nothing in a container can guess."""
    return secrets.randbits(64) | 1  # 0 is the relay's own first word


_CONTAINERS: "weakref.WeakSet[Container]" = weakref.WeakSet()


def _abandon_all() -> None:
    for container in list(_CONTAINERS):
        container.abandon()


os.register_at_fork(after_in_child=_abandon_all)
