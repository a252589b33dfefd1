"""Servers as a person starts them, the command in a process of its own, on loopback; and what speaks to their sockets
without HTTP's manners.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from uvicorn import Config, Server

from toolenvs.serve import run


@dataclass
class Served:
    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: object = None, **options: Any) -> httpx.Response:
        if body is not None:
            options["json"] = body
        return httpx.post(self.url + path, timeout=60, trust_env=False, **options)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60, trust_env=False)

    def metrics(self) -> dict[str, float]:
        lines = self.get("/metrics").text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(60)


@contextlib.contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Address and process of `toolenvs serve ARGUMENTS`."""
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1], process
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        yield connection


def received(connection: socket.socket) -> bytes:
    """All that comes until the connection is closed or reset."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            data += more
    return data


def send(connection: socket.socket, data: bytes, times: int = 1) -> None:
    """It may be closed at any moment."""
    with contextlib.suppress(ConnectionError):
        for _ in range(times):
            connection.sendall(data)


@contextlib.contextmanager
def in_thread(config: Config, listener: socket.socket, loop_factory: Any = None) -> Iterator[None]:
    """A server of this process, in a thread of its own; begun before this begins, ended after it ends."""
    server = Server(config)

    def work() -> None:
        with contextlib.closing(listener), asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(server.serve(sockets=[listener]))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            threading.Event().wait(0.005)
        yield
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


def check_patience(protocol: type[asyncio.Protocol], openings: Sequence[bytes]) -> None:
    """That a server with this protocol closes connections on which no request comes to be, and no others.

    Args:
        protocol: whose patience is much shorter than a second.
        openings: what a client sends before it says no more.
    """

    async def slow(_: object) -> Response:
        await asyncio.sleep(1.5)
        return Response("done")

    listener = run.bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    application = Starlette(routes=[Route("/", slow)])
    with in_thread(Config(application, http=protocol, ws="none", log_level="error"), listener):
        for opening in openings:
            with connected(port) as connection:
                send(connection, opening)
                assert received(connection) == b""
        with connected(port) as connection:
            for _ in range(2):  # a request that takes longer than the patience is no idle connection
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = b""
                while not answer.endswith(b"done"):
                    more = connection.recv(1000)
                    assert more
                    answer += more
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            assert received(connection) == b""
