"""Addresses of servers, right and wrong, and who takes them."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolenvs import address, remote, retrieval, sandbox
from toolenvs.agents.openai import OpenAIChat
from toolenvs.errors import ConfigError
from toolenvs.train.engines.remote import RemoteEngine

WRONG = [
    "", "http://", "http:///path", "127.0.0.1:8080", "ftp://x", "http://x:99999", "http://x:-1", "http://x:port",
    "http://[::1", "http://a b", "http://x/\0", "http://\ud800", "http://x\n",
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("HTTPS://Example.org/a//", "https://Example.org/a"),
        ("http://[::1]:0", "http://[::1]:0"),
        ("http://é.example", "http://é.example"),
    ],
)
def test_addresses(given: str, read: str) -> None:
    assert address.http(given, "x: url", 80) == read


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_none(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"^x: url = .* is no address: give one such as 'http://127.0.0.1:80'$"):
        address.http(wrong, "x: url", 80)


_CLIENTS: dict[str, Callable[[str], Any]] = {
    "sandbox": lambda url: sandbox.open("remote", url=url),
    "retrieval": lambda url: retrieval.open(url, backend="http"),
    "an engine": RemoteEngine,
    "an endpoint": lambda url: OpenAIChat("m", url),
    "remote, by HTTP": lambda url: remote.load(url, "ReTool-v0", transport="http"),
    "remote, by WebSocket": lambda url: remote.load(url, "ReTool-v0"),
}


@pytest.mark.parametrize("client", _CLIENTS.values(), ids=_CLIENTS)
@pytest.mark.parametrize("wrong", WRONG)
def test_clients_refuse_them_at_once_and_leave_no_thread(client: Callable[[str], Any], wrong: str) -> None:
    before = threading.active_count()
    with pytest.raises(ConfigError, match="is no address"):
        client(wrong)
    assert threading.active_count() == before
