"""A network that connects to nothing: it notes each address, answers for the public ones, and knows its own names."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpcore
import pytest

from toolenvs import web
from toolenvs.web.browser import Browser
from toolenvs.web.guard import Policy


class Recording(httpcore.AsyncNetworkBackend):
    """Every connection that would be made. Only the loopback endpoints in `real` are connected to."""

    PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>T</title><p>public page"

    def __init__(self) -> None:
        self.connected: list[tuple[str, int]] = []
        self.real: set[tuple[str, int]] = set()
        self.answers: list[bytes] = []
        """What the next connections give, a raw answer each; then PAGE."""
        self.streams: list[Stream] = []
        self.names: dict[str, Any] = {}
        """Name -> addresses, or a list of such for one lookup after another."""
        self.looked_up: list[str] = []

    async def connect_tcp(self, host: str, port: int, *options: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        if (host, port) in self.real:
            return await httpcore.AnyIOBackend().connect_tcp(host, port, *options, **more)
        stream = Stream(self.answers.pop(0) if self.answers else self.PAGE)
        self.streams.append(stream)
        return stream

    async def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise AssertionError(f"a socket of this machine was asked for: {path}")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        found = self.names.get(host, ())
        if found and isinstance(found[0], list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found


class Stream(httpcore.AsyncNetworkStream):
    """A connection that gives one raw answer, and keeps what was written and which name TLS was asked for."""

    def __init__(self, answer: bytes) -> None:
        self._answer = [answer[start : start + 4_096] for start in range(0, len(answer), 4_096)]
        self.written = b""
        self.tls_name: str | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._answer.pop(0) if self._answer else b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written += buffer

    async def aclose(self) -> None: ...

    async def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: Any = None) -> "Stream":
        self.tls_name = server_hostname
        return self

    def get_extra_info(self, info: str) -> Any:
        return False if info == "is_readable" else None


@pytest.fixture
def network() -> Recording:
    return Recording()


@pytest.fixture
def live(network: Recording) -> Iterator[Callable[..., Browser]]:
    """Browsers of the "live" web over the recording network; every public host is allowed unless told otherwise."""
    opened: list[Browser] = []

    def make(**options: Any) -> Browser:
        limits = {name: options.pop(name) for name in list(options) if name in web._LIMITS}
        policy = options.pop("policy", None) or Policy(**{"allow": ("*",), **options})
        browser = web.open("live", policy=policy, network=network, resolver=network.resolve, **{"pace_s": 0, **limits})
        opened.append(browser)
        return browser

    yield make
    for browser in opened:
        browser.close()


@pytest.fixture(autouse=True)
def no_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is looked up by the system: a test that needs one gives it to the recording network."""
    real = socket.getaddrinfo

    def only_numbers(host: Any, *arguments: Any, **options: Any) -> Any:
        if host not in (None, "127.0.0.1", b"127.0.0.1", "::1"):
            raise AssertionError(f"the name {host!r} would be looked up")
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", only_numbers)
