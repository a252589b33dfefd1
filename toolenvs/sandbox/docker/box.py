"""The `docker` backend: hardened containers with fork servers of their own, on the engine that DOCKER_HOST names."""

import asyncio
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from toolenvs.errors import ForkError, IsolationError, SandboxError
from toolenvs.sandbox import base, inputs
from toolenvs.sandbox.docker import frames
from toolenvs.sandbox.docker.container import ANSWER_LIMIT_S, Container, new_nonce
from toolenvs.sandbox.docker.engine import Engine
from toolenvs.sandbox.docker.frames import Reply, Request
from toolenvs.sandbox.docker.options import split
from toolenvs.sandbox.result import Result
from toolenvs.sandbox.turnstile import Turnstile, caller

_LONG_FRAME_BYTES = 32_768  # longer ones are sent beside the event loop: the engine may take them slowly


class DockerBox(base.Box):
    """Programs in containers."""

    tier = "fork"
    """The walls of a program within its container; see the local backend."""

    def __init__(self, *, min_isolation: str = "fork", seed: int | None = 0, **options: Any) -> None:
        """Start the containers.

        Args:
            min_isolation: the weakest tier that is accepted, of the walls between the programs of one container.
            seed: of programs that are given none; None: one that is drawn, and can be read in `seed`.
            options: what `sandboxes/docker.toml` and `sandboxes/local.toml` name.

        Raises:
            ConfigError: an option is unknown or wrong, or the engine has no such image or runtime.
            IsolationError: more than the fork tier is asked for.
            MissingExtraError: the SDK is not installed.
            SandboxError: no engine answers, or no container comes up.
        """
        base.check_tier(min_isolation)
        if min_isolation != self.tier:
            raise IsolationError(
                f"a container keeps its programs from each other as the {self.tier} tier does, which is less than "
                f"{min_isolation!r}: ask for that, or use the local backend"
            )
        self.options, self.limits = split(options)
        self.seed = inputs.seed(seed)
        self._owner = os.getpid()
        self._closed = False
        self._running = Turnstile(self.limits.max_running)
        self._sessions = Turnstile(self.limits.max_sessions)
        self._numbers = count(1)
        self._live: weakref.WeakSet[DockerSession] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._containers: list[Container] = []
        self._engine = Engine()
        try:
            self._engine.remove_abandoned()
            for _ in range(self.options.containers):
                self._start_one()
        except BaseException:
            self.close()
            raise

    def run(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """Run `code` in a fresh interpreter; see `Box.run`."""
        inputs.block(files, self.tier)  # which refuses them: programs have no folder there
        request = self._request(code, stdin, timeout_s, self.seed if seed is None else seed)
        if isinstance(request, Result):
            return request
        self._check_owner()
        self._running.enter()
        try:
            return self._finish(self.container(), request)
        finally:
            self._running.leave()

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
        inputs.block(files, self.tier)
        request = self._request(code, stdin, timeout_s, self.seed if seed is None else seed)
        return self._arun(caller(), request)  # the caller, not the task that this will run in

    async def _arun(self, by: object, request: Request | Result) -> Result:
        if isinstance(request, Result):
            return request
        self._check_owner()
        await self._running.aenter(by)
        try:
            return await self._afinish(await self.acontainer(), request)
        finally:
            self._running.leave()

    def session(self, *, seed: int | None = None) -> "DockerSession":
        """A stateful interpreter; waits while `max_sessions` are live."""
        self._check_owner()
        self._sessions.enter()
        return DockerSession(self, self.seed if seed is None else seed)

    def asession(self, *, seed: int | None = None) -> "Coroutine[Any, Any, DockerSession]":
        """As `session`."""
        return self._asession(caller(), seed)

    async def _asession(self, by: object, seed: int | None) -> "DockerSession":
        self._check_owner()
        await self._sessions.aenter(by)
        return DockerSession(self, self.seed if seed is None else seed)

    def close(self) -> None:
        """End every program, and remove every container of this box."""
        if self._closed or self._owner != os.getpid():
            return
        self._closed = True
        for session in list(self._live):
            session.close()
        with self._starting:
            for container in self._containers:
                container.close()
            self._containers = []
        self._engine.close()

    def _end(self, home: Container, number: int) -> None:
        """End the session of that number."""
        home.sessions -= 1
        if self._owner == os.getpid():
            home.tell(Request(frames.CLOSE, 0, number))

    @property
    def server_pids(self) -> list[int]:
        """Process ids of the containers' first processes, on the engine's machine."""
        return [self._engine.pid(container.id) for container in self._containers if container.running]

    @property
    def container_ids(self) -> list[str]:
        """The containers that run now."""
        return [container.id for container in self._containers if container.running]

    def container(self) -> Container:
        """The least busy container; a dead one is replaced.

        Raises:
            SandboxError: none comes up.
        """
        self._check_owner()
        living = [container for container in self._containers if container.running]
        if len(living) < self.options.containers:
            if not living:
                with self._starting:
                    self._start_missing(1)
                return self.container()
            threading.Thread(target=self._replace, name="sandbox-start", daemon=True).start()
        return min(living, key=lambda container: container.load)

    async def acontainer(self) -> Container:
        """As `container`."""
        if any(container.running for container in self._containers):
            return self.container()
        return await asyncio.to_thread(self.container)

    def _replace(self) -> None:
        if self._starting.acquire(blocking=False):
            try:
                self._start_missing(self.options.containers)
            except SandboxError:
                return  # those that run go on; the next call tries again
            finally:
                self._starting.release()

    def _start_missing(self, wanted: int) -> None:
        """Remove dead containers; start as many as are missing. Called with `_starting` held."""
        for container in [container for container in self._containers if not container.running]:
            self._containers = [other for other in self._containers if other is not container]
            container.close()
        while len(self._containers) < wanted and not self._closed:
            self._start_one()

    def _start_one(self) -> None:
        container = Container(self._engine, self.options, self.limits, self.seed, self.tier)
        self._containers = [*self._containers, container]

    def _check_owner(self) -> None:
        if self._closed:
            raise SandboxError("this sandbox is closed")
        if self._owner != os.getpid():
            raise SandboxError("this sandbox belongs to the parent process: open one here, or use sandbox.shared()")

    def _request(self, code: str, stdin: str, timeout_s: float | None, seed: int, session: int = 0) -> Request | Result:
        """The order to run `code`, or the result for a program that cannot even be sent."""
        refused = inputs.refused(code, stdin, self.limits.code_chars)
        if refused is not None:
            return refused
        limit_s = inputs.limit_s(timeout_s, self.limits.timeout_s)
        return Request(frames.RUN, new_nonce(), session, int(seed) % 2**64, limit_s, code.encode(), stdin.encode())

    def _finish(self, container: Container, request: Request) -> Result:
        """Send a request and wait for its result; an exception in this thread ends the program."""
        started_s = time.monotonic()
        future = container.call(request)
        try:
            reply = container.wait(future, request.timeout_s + ANSWER_LIMIT_S)
        except BaseException:
            container.tell(Request(frames.CANCEL, request.nonce))
            raise
        return self._result(reply, started_s)

    async def _afinish(self, container: Container, request: Request) -> Result:
        started_s = time.monotonic()
        reply = await self._areply(container, request)
        return self._result(reply, started_s)

    async def _areply(self, container: Container, request: Request) -> Reply:
        if len(request.code) + len(request.stdin) > _LONG_FRAME_BYTES:
            future = await asyncio.to_thread(container.call, request)
        else:
            future = container.call(request)
        limit_s = request.timeout_s + ANSWER_LIMIT_S
        try:
            return await _patiently(future, limit_s, container.give_up)
        except BaseException:
            container.tell(Request(frames.CANCEL, request.nonce))
            raise

    def _result(self, reply: Reply, started_s: float) -> Result:
        if reply.status in (frames.FAILED, frames.REFUSED, frames.CANCELLED, frames.READY):
            raise SandboxError(f"in the container of the docker sandbox: {reply.text() or 'no result'}")
        return reply.result(self.limits.output_chars, time.monotonic() - started_s)


class DockerSession(base.Session):
    """An interpreter that keeps its state."""

    def __init__(
        self, box: DockerBox, seed: int, container: Container | None = None, number: int = 0, *, lost: bool = False
    ) -> None:
        self._box = box
        self._seed = seed
        self._container = container
        self._number = number or next(box._numbers)
        self._lost = lost  # with a container, and no result has told so
        self._closed = False
        self._alone = base.OneAtATime(threading.Lock())
        if container is not None:
            container.sessions += 1
        box._live.add(self)

    def run(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """Run `code`; see `Session.run`."""
        inputs.block(files, self._box.tier)
        with self._one_at_a_time():
            request = self._box._request(code, stdin, timeout_s, self._seed, self._number)
            if isinstance(request, Result):
                return request
            home = self._settled(self._home() or self._box.container())
            return self._telling(self._box._finish(home, request))

    async def arun(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """As `run`. Cancelling kills the interpreter."""
        inputs.block(files, self._box.tier)
        with self._one_at_a_time():
            request = self._box._request(code, stdin, timeout_s, self._seed, self._number)
            if isinstance(request, Result):
                return request
            home = self._settled(self._home() or await self._box.acontainer())
            return self._telling(await self._box._afinish(home, request))

    def fork(self) -> "DockerSession":
        """A copy of the interpreter as it is now; see `Session.fork`.

        Raises:
            ForkError: it cannot be copied; the message says why.
            SandboxError: the sandbox itself failed.
        """
        with self._one_at_a_time():
            self._box._sessions.enter()
            try:
                home = self._home()
                if home is None:
                    return DockerSession(self._box, self._seed, lost=self._lost)
                request = self._fork_request()
                with self._forgotten_unless_made(home, request):
                    return self._copied(home, request, home.wait(home.call(request), ANSWER_LIMIT_S))
            except BaseException:
                self._box._sessions.leave()
                raise

    def afork(self) -> "Coroutine[Any, Any, DockerSession]":
        """As `fork`. Cancelling leaves the session as it is."""
        return self._afork(caller())

    async def _afork(self, by: object) -> "DockerSession":
        with self._one_at_a_time():
            await self._box._sessions.aenter(by)
            try:
                home = self._home()
                if home is None:
                    return DockerSession(self._box, self._seed, lost=self._lost)
                request = self._fork_request()
                # A copy that has been asked for is made: the session is busy in its container until then.
                copying = asyncio.ensure_future(self._box._areply(home, request))
                with self._forgotten_unless_made(home, request):
                    await base.finish_first(copying)
                    return self._copied(home, request, copying.result())
            except BaseException:
                self._box._sessions.leave()
                raise

    def close(self) -> None:
        """End the interpreter; a run that is going on in it ends as crashed."""
        if self._closed:
            return
        self._closed = self._alone.closed = True
        if self._container is not None:
            self._box._end(self._container, self._number)
        self._box._sessions.leave()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._closed, home = True, self._container
            self._box._sessions.forsake(None if home is None else partial(self._box._end, home, self._number))

    def _fork_request(self) -> Request:
        return Request(frames.FORK, new_nonce(), self._number, next(self._box._numbers))

    @contextlib.contextmanager
    def _forgotten_unless_made(self, home: Container, request: Request) -> Iterator[None]:
        """Whatever goes wrong here, no copy stays in the container."""
        try:
            yield
        except BaseException:
            home.tell(Request(frames.CANCEL, request.nonce))
            home.tell(Request(frames.CLOSE, 0, request.seed))  # it may have been made before that was read
            raise

    def _copied(self, home: Container, request: Request, reply: Reply) -> "DockerSession":
        if reply.status == frames.REFUSED:
            raise ForkError(reply.text())
        if reply.status != 0:
            raise SandboxError(f"in the container of the docker sandbox: {reply.text() or 'no copy'}")
        return DockerSession(self._box, self._seed, home, request.seed)

    def _home(self) -> Container | None:
        """The container that this session lives in, if it does."""
        home = self._container
        if home is not None and not home.running:  # the run that it broke has said so; the next one begins afresh
            home.sessions -= 1
            self._container = home = None
            self._lost = True
        return home

    def _telling(self, result: Result) -> Result:
        """The result, with what is to be told about the session's state."""
        lost, self._lost = self._lost, False
        return replace(result, state_lost=True) if lost else result

    def _settled(self, home: Container) -> Container:
        if self._closed:  # while a container was starting
            raise SandboxError("this session is closed")
        if self._container is None:
            self._container = home
            home.sessions += 1
        return home

    def _one_at_a_time(self) -> base.OneAtATime:
        if self._closed:
            raise SandboxError("this session is closed")
        self._box._check_owner()
        return self._alone


async def _patiently(future: "Future[Reply]", limit_s: float, give_up: Callable[[float], None]) -> Reply:
    """What a call comes to, in the running loop."""
    try:
        async with asyncio.timeout(limit_s):  # which never takes a cancelling for its own, as `wait_for` of 3.11 does
            return await asyncio.wrap_future(future)
    except TimeoutError:
        give_up(limit_s)
        return future.result(0)
