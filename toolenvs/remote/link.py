"""`Link`: what a process has to a server of environments. It asks again where an answer got lost, and keeps leases.

Every question may be asked twice without anything being done twice: sessions have ids that the client draws, and turns
have numbers. So whatever breaks, the link asks again, until nobody has answered for `deadline_s`.
"""

import asyncio
import concurrent.futures
import contextlib
import time
import weakref
from typing import Any

from toolenvs import address, bearer, errors
from toolenvs.errors import ConfigError, InfrastructureError, MissingExtraError, ToolenvsError
from toolenvs.loop_thread import LoopThread
from toolenvs.per_process import PerProcess
from toolenvs.remote.transports import OverHttp, OverSocket, Transport
from toolenvs.remote.wire import Json
from toolenvs.retrieval.http.connections import Connections, TransportFault
from toolenvs.retrying import jittered, retry_after_s, times

TOKEN = "TOOLENVS_ENV_TOKEN"
"""Environment variable that holds the token which clients of a server of environments must send."""
TRANSPORTS = ("websocket", "http")
_GOES_ON = 202
_RETRIED = (408, 429, 502, 503, 504)
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_GOODBYE_S = 5.0
_ENDS_AT_ONCE = 64
_HEARTBEATS = 3
"""In the time of a lease."""


class Link:
    """Connections to one server, and the thread that they live in.

    Args:
        url: of the server, such as "http://10.0.0.5:8090".
        token: sent as a bearer token; "" for none.
        transport: "websocket" for one connection that all episodes share, "http" for a request a question.
        answer_s: after so long without an answer a question is asked again.
        deadline_s: after so long without a sign of life the server counts as dead.

    Raises:
        ConfigError: an argument is wrong.
        MissingExtraError: a package that the transport needs is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        transport: str = "websocket",
        answer_s: float = 60.0,
        deadline_s: float = 60.0,
    ) -> None:
        self.url = address.http(url, "url", 8090)
        if transport not in TRANSPORTS:
            raise ConfigError(f"transport = {transport!r}; known: {', '.join(TRANSPORTS)}")
        for name, value in {"answer_s": answer_s, "deadline_s": deadline_s}.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**31:
                raise ConfigError(f"{name} must be a positive number of seconds, not {value!r}")
        token = bearer.token(token, TOKEN)
        self._answer_s = answer_s
        self._deadline_s = deadline_s
        socket = OverSocket(self.url, token) if transport == "websocket" else None
        try:
            self._connections = Connections(
                bearer.headers(token),
                owner=f"the link to {self.url}",
                error=InfrastructureError,
            )
        except ImportError:
            raise MissingExtraError("httpx", "remote", "a remote environment") from None
        self._transport: Transport = socket or OverHttp(self.url, self._connections)
        self._kept: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._heart: concurrent.futures.Future[None] | None = None
        self._said_goodbye = False

    def ask(self, operation: str, body: Json, *, session: str = "") -> Json:
        """The answer to a question.

        Raises:
            InfrastructureError: there is none, or the server failed.
            ConfigError: the server refuses this client.
            ToolenvsError: what the question is about is wrong; as the server says it.
        """
        return self._thread().run(self._ask(operation, session, body))

    async def aask(self, operation: str, body: Json, *, session: str = "") -> Json:
        """As `ask`, from any loop."""
        return await self._thread().arun(self._ask(operation, session, body))

    async def aend(self, session: str) -> None:
        """End a session. The server may be dead: then it, or its successor, knows nothing of it any more."""
        self._kept.pop(session, None)
        if not self._said_goodbye:
            with contextlib.suppress(TransportFault, TimeoutError, InfrastructureError):  # a closed link ended it
                await self._thread().arun(self._end(session))

    def end_some_time(self, session: str) -> None:
        """End a session, and do not wait for it."""
        self._kept.pop(session, None)
        if not self._said_goodbye:
            with contextlib.suppress(InfrastructureError):  # a closed link ended it
                self._thread().submit(self._end(session))

    def keep(self, session: str, owner: Any, lease_s: float) -> None:
        """Renew the lease of a session for as long as its owner lives and nobody ends it."""
        self._kept[session] = owner
        if self._heart is None:
            self._heart = self._thread().submit(self._beat(lease_s))

    def close(self) -> None:
        """End the sessions that are still kept, and let go of the connections."""
        if self._said_goodbye:
            return
        self._said_goodbye = True
        if self._heart is not None:
            self._heart.cancel()
        with contextlib.suppress(Exception):
            self._connections.thread.run(self._goodbye(self._sessions()))
        self._connections.close()

    def _thread(self) -> LoopThread:
        """Where the connections live.

        Raises:
            InfrastructureError: they are closed, or about to be.
        """
        if self._said_goodbye:
            raise InfrastructureError(f"the link to {self.url} is closed: open another")
        return self._connections.thread

    async def _ask(self, operation: str, session: str, body: Json) -> Json:
        dead_s, wait_s, tried = time.monotonic() + self._deadline_s, _FIRST_WAIT_S, 0
        while True:
            tried, told_s = tried + 1, 0.0
            try:
                async with asyncio.timeout(self._answer_s):
                    status, answer, retry_after = await self._transport.send(operation, session, body)
            except TimeoutError:
                fault = f"no answer within {self._answer_s:g} s"
            except TransportFault as error:
                fault = str(error)
            else:
                if status == 200 and isinstance(answer, dict):
                    return answer
                if status == _GOES_ON:
                    dead_s, wait_s = time.monotonic() + self._deadline_s, _FIRST_WAIT_S
                    continue
                fault = f"status {status}: {_detail(answer)}"
                if status not in _RETRIED:
                    raise _refusal(status, answer, f"{self.url}: {operation}: {fault}")
                told_s = retry_after_s(retry_after)
            left_s = dead_s - time.monotonic()
            if left_s <= 0:
                raise InfrastructureError(f"{self.url}: {operation} was asked {times(tried)}, in vain: {fault}")
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            await asyncio.sleep(min(max(told_s, jittered(wait_s)), left_s))

    async def _end(self, session: str) -> None:
        async with asyncio.timeout(_GOODBYE_S):
            await self._transport.send("end", session, {})

    def _sessions(self) -> list[str]:
        """Those that are kept. Other threads begin and end some meanwhile, so it is read in one go."""
        return [ref.key for ref in self._kept.valuerefs() if ref() is not None]

    async def _beat(self, lease_s: float) -> None:
        async with asyncio.TaskGroup() as beats:
            while True:
                await asyncio.sleep(lease_s / _HEARTBEATS)
                beats.create_task(self._beat_once(lease_s))  # one that is slow to arrive does not hold up the next

    async def _beat_once(self, lease_s: float) -> None:
        sessions = self._sessions()
        if sessions:
            with contextlib.suppress(Exception):  # whatever it is, the next beat comes
                async with asyncio.timeout(lease_s):
                    await self._transport.send("heartbeat", "", {"sessions": sessions})

    async def _goodbye(self, sessions: list[str]) -> None:
        gate = asyncio.Semaphore(_ENDS_AT_ONCE)

        async def end(session: str) -> None:
            async with gate:
                await self._end(session)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await asyncio.gather(*map(end, sessions), return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await self._transport.aclose()


_links: PerProcess[Link] = PerProcess()


def shared(url: str, *, token: str | None = None, transport: str = "websocket", deadline_s: float = 60.0) -> Link:
    """The link that all environments of this process have to a server; a forked child makes its own.

    Args:
        url: of the server.
        token: sent as a bearer token; "" for none; None: what the environment variable TOOLENVS_ENV_TOKEN holds.
        transport: "websocket" or "http".
        deadline_s: after so long without a sign of life the server counts as dead.
    """
    given = bearer.token(token, TOKEN)
    key = (url, given, transport, deadline_s)
    return _links.get(key, lambda: Link(url, token=given, transport=transport, deadline_s=deadline_s))


def _refusal(status: int, answer: Any, told: str) -> ToolenvsError:
    """The error that a refusal is on this side."""
    detail = answer.get("detail") if isinstance(answer, dict) else None
    if isinstance(detail, dict) and isinstance(detail.get("error"), str):
        kind = getattr(errors, detail["error"], None)
        if isinstance(kind, type) and issubclass(kind, ToolenvsError) and kind is not MissingExtraError:
            return kind(str(detail.get("message", "")))
    return ConfigError(told) if status in (401, 403, 422) else InfrastructureError(told)


def _detail(answer: Any) -> str:
    return str(answer.get("detail", answer) if isinstance(answer, dict) else answer)[:500]
