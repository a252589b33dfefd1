"""Load a page: hop by hop, each hop checked, with a deadline, a cap on bytes and the cookies of one episode."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from copy import copy as copy_of
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import ClassVar, Protocol

import httpx

from toolenvs.web.faults import Fault
from toolenvs.web.limits import Limits
from toolenvs.web.transport.body import Body
from toolenvs.web.transport.pace import Pace
from toolenvs.web.transport.robots import Robots
from toolenvs.web.urls import Url, canonical

AGENT = "toolenvs"
"""What the network transport calls itself, and what robots.txt may name."""
_REDIRECTS = {301, 302, 303, 307, 308}
_MAX_COOKIES = 100
_ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class Request:
    """What an action asks for."""

    url: Url
    method: str = "GET"
    """ "GET" or "POST"."""
    content: bytes = b""
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Further ones, such as a real browser's own cookies."""
    cookies: bool = True
    """Whether the episode's cookies are sent and kept."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it came, decompressed, not decoded."""

    url: Url
    """After redirects; the fragment is the redirect's, else that of what was asked for."""
    http_status: int
    content_type: str
    """With its parameters, as the server said it; "" where it said nothing."""
    body: bytes
    truncated: bool
    headers: tuple[tuple[str, str], ...] = ()
    """Of the last answer, in their order."""
    set_cookies: tuple[tuple[str, str], ...] = ()
    """What each hop asked to keep: its address, and the value of its Set-Cookie header."""
    left_s: float = 0.0
    """Of the action's time, where its source waits."""


class Way(Protocol):
    """What a fetcher needs to know of where pages come from; see `toolenvs.web.source.Source`."""

    waits: ClassVar[bool]
    live: ClassVar[bool]
    posts: ClassVar[bool]

    def check(self, url: Url) -> None:
        """That an address may be asked for.

        Raises:
            Fault: blocked.
        """
        ...

    def fault(self, error: Exception) -> Fault | None:
        """What an exception of the transport means to the reader of the page; None: it is the transport's own fault."""
        ...


class Fetcher:
    """Loads pages for one episode, and keeps what an episode keeps: cookies, bytes used, robots.txt, the pace."""

    def __init__(self, way: Way, transport: httpx.AsyncBaseTransport, limits: Limits) -> None:
        """Begin an episode.

        Args:
            way: the rules of where pages come from.
            transport: of this episode alone.
            limits: deadlines and caps.
        """
        self._way = way
        self.transport = transport
        self._limits = limits
        # a cookie without a domain is its host's own, not that of hosts below it
        strict = DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrict)
        self._cookies = httpx.Cookies(CookieJar(strict))
        self._robots = Robots(AGENT) if way.live else None
        self._pace = Pace(limits.pace_s) if way.live else None
        self.bytes_used = 0
        """Loaded so far in this episode."""

    @property
    def max_body_bytes(self) -> int:
        """Kept of one page, as of `Limits`."""
        return self._limits.max_body_bytes

    def fork(self, way: Way, transport: httpx.AsyncBaseTransport) -> "Fetcher":
        """A fetcher for a copy of the episode: the same cookies and counts, then its own."""
        copy = Fetcher(way, transport, self._limits)
        for cookie in self._cookies.jar:
            copy._cookies.jar.set_cookie(copy_of(cookie))
        copy.bytes_used = self.bytes_used
        copy._robots = self._robots and self._robots.fork()
        copy._pace = self._pace and self._pace.fork()
        return copy

    def replace_cookies(self, url: Url, header: str) -> None:
        """Have those of a `Cookie` header be the cookies for an address: a real browser keeps its own."""
        sent = httpx.Request("GET", url.text)
        for cookie in list(self._cookies.jar):
            alone = httpx.Cookies()
            alone.jar.set_cookie(cookie)
            alone.set_cookie_header(sent)
            if sent.headers.pop("cookie", None) is not None:
                self._cookies.jar.clear(cookie.domain, cookie.path, cookie.name)
        for pair in header.split("; ")[:_MAX_COOKIES] if header else ():
            name, _, value = pair.partition("=")
            self._cookies.set(name, value, domain=url.host)

    async def fetch(self, request: Request) -> Fetched:
        """The page that `request` leads to.

        Raises:
            Fault: there is none; says why.
        """
        left_s = self._limits.timeout_s
        set_cookies: list[tuple[str, str]] = []
        for _ in range(self._limits.max_redirects + 1):
            self._way.check(request.url)
            if request.method != "GET" and not self._way.posts:
                told = "forms that change something (POST) are not sent from here: read pages, or use another form"
                raise Fault("blocked", told, url=request.url.text)
            if self._robots is not None:
                left_s = await self._ask_robots(self._robots, request.url, left_s)
            answer, left_s = await self._hop(request, left_s, set_cookies)
            if isinstance(answer, Fetched):
                if not self._way.waits:
                    return answer
                return replace(answer, set_cookies=tuple(set_cookies), left_s=max(left_s, 0.0))
            request = answer
        told = f"more than {self._limits.max_redirects} redirects, the last to {request.url.text}: open another page"
        raise Fault("too_many_redirects", told, url=request.url.text)

    async def _ask_robots(self, robots: Robots, url: Url, left_s: float) -> float:
        """That the host's robots.txt, loaded when it is first needed, allows an address; the time that is left."""
        if not robots.knows(url):
            asked, status, rules = Request(canonical("/robots.txt", url.text)), 404, b""
            try:
                for _ in range(self._limits.max_redirects + 1):
                    found, left_s = await self._hop(asked, left_s)
                    if isinstance(found, Fetched):
                        status, rules = found.http_status, found.body
                        break
                    self._way.check(found.url)
                    asked = found
            except Fault as fault:
                if fault.http_status is None and fault.status not in ("decode", "bad_url"):
                    raise
                status = fault.http_status or 404
            robots.learn(url, status, rules)
        robots.check(url)
        return left_s

    async def _hop(
        self, request: Request, left_s: float, set_cookies: list[tuple[str, str]] | None = None
    ) -> tuple[Fetched | Request, float]:
        """One request: a page, or where it is sent on to; and the time that is left."""
        url = request.url
        if self._pace is not None:
            await self._pace.wait(url.host, self._robots.delay_s(url) if self._robots else 0.0)
        started_s = time.monotonic()
        try:
            async with self._deadline(left_s):
                answer = await self._exchange(request, set_cookies)
        except TimeoutError:
            told = f"{url.host} gave no whole answer within {self._limits.timeout_s:g} s: try again or another page"
            raise Fault("timeout", told, url=url.text) from None
        except Fault as fault:
            fault.url = fault.url or url.text
            raise
        except Exception as error:
            told_fault = self._way.fault(error)
            if told_fault is None:
                raise
            told_fault.url = url.text
            raise told_fault from None
        return answer, left_s - (time.monotonic() - started_s)

    @contextlib.asynccontextmanager
    async def _deadline(self, left_s: float) -> AsyncIterator[None]:
        if not self._way.waits:  # nothing to wait for, and perhaps no loop
            yield
            return
        async with asyncio.timeout(max(left_s, 0.0)):
            yield

    async def _exchange(self, request: Request, set_cookies: list[tuple[str, str]] | None) -> Fetched | Request:
        url = request.url
        room = self._limits.max_total_bytes - self.bytes_used
        if room <= 0:
            told = f"all {self._limits.max_total_bytes:,} bytes of this episode are loaded: answer from what was read"
            raise Fault("budget", told)
        headers = {"User-Agent": AGENT, "Accept": _ACCEPT, "Accept-Encoding": "gzip"}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        headers |= dict(request.headers)
        sent = httpx.Request(request.method, url.text, headers=headers, content=request.content or None)
        if self._way.waits and request.cookies:
            self._cookies.set_cookie_header(sent)
        answer = await self.transport.handle_async_request(sent)
        try:
            answer.request = sent
            given = answer.headers.get_list("set-cookie")
            if set_cookies is not None:
                set_cookies.extend((url.text, value) for value in given)
            if given and request.cookies and len(self._cookies.jar) < _MAX_COOKIES:
                self._cookies.extract_cookies(answer)
            return await self._read(request, answer, room)
        finally:
            await answer.aclose()

    async def _read(self, request: Request, answer: httpx.Response, room: int) -> Fetched | Request:
        url, status = request.url, answer.status_code
        if status in _REDIRECTS and "location" in answer.headers:
            return _next(request, status, answer.headers["location"])
        if status >= 300:
            raise _refused(url, status)
        body = Body(answer.headers, min(self._limits.max_body_bytes, room))
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        try:
            await body.fill(answer.stream)
        except Fault:
            raise
        except Exception as error:
            if not body.kept or self._way.fault(error) is None:
                raise
            body.truncated = True  # the connection ended within the body: what came is shown
        finally:
            if self._way.waits:
                self.bytes_used += body.read
        content_type = answer.headers.get("content-type", "")
        headers = tuple(answer.headers.multi_items())
        return Fetched(url, status, content_type, bytes(body.kept), body.truncated, headers)


def _next(request: Request, status: int, location: str) -> Request:
    """Where a redirect leads to.

    Raises:
        Fault: bad_url, to what is not opened; blocked, a form would be sent to another host.
    """
    url = request.url
    try:
        to = canonical(location, url.text)
    except Fault as fault:
        told = f"{url.text} leads to an address that is not opened: {fault.told}"
        raise Fault(fault.status, told, url=url.text, http_status=status) from None
    if url.fragment and not to.fragment:
        to = canonical(f"{to.text}#{url.fragment}")
    if to.origin != url.origin:
        request = replace(request, headers=())  # they were meant for the first host
    if request.method == "POST" and status in (307, 308):
        if to.origin != url.origin:
            told = f"the form would be sent on to {to.host}, another host: open that page yourself"
            raise Fault("blocked", told, url=to.text, http_status=status)
        return replace(request, url=to)
    return replace(request, url=to, method="GET", content=b"", content_type="")


def _refused(url: Url, status: int) -> Fault:
    if status in (404, 410):
        return Fault("not_found", f"there is no page {url.text}: check the address, or search", http_status=status)
    told = f"{url.host} answered with status {status}: try another page"
    return Fault("http_status", told, url=url.text, http_status=status)
