"""Sandbox servers as a person starts them: the command in a process of its own, on loopback."""

import contextlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType

import httpx
import pytest

Start = Callable[..., AbstractContextManager["Served"]]


@dataclass
class Served:
    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: object = None, **options: object) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]

    def run(self, code: str, **more: object) -> dict[str, object]:
        response = self.post("/run_code", {"code": code, "language": "python", **more})
        assert response.status_code == 200, response.text
        answer: dict[str, object] = response.json()
        return answer

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60, trust_env=False)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextlib.contextmanager
def _start(*options: str, token: str = "") -> Iterator[Served]:
    command = [
        sys.executable,
        "-c",
        "from toolenvs.cli import main; main()",
        "serve",
        "sandbox",
        "--port",
        "0",
        *options,
    ]
    environment = {**os.environ, "TOOLENVS_SANDBOX_TOKEN": token}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        yield Served(url, process)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="session")
def start() -> Start:
    """Start a server with these options."""
    return _start


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One server with its defaults."""
    with _start() as one:
        yield one


@pytest.fixture(scope="session")
def fusion() -> ModuleType:
    """SandboxFusion's own client package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sandbox_fusion
    return sandbox_fusion
