"""Search servers as a person starts them: the command in a process of its own, on loopback."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from toolenvs import retrieval

PASSAGES = Path(__file__).parents[2] / "retrieval" / "data" / "passages.jsonl"
Start = Callable[..., AbstractContextManager["Served"]]


@dataclass
class Served:
    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: object = None, **options: object) -> httpx.Response:
        if body is not None:
            options["json"] = body
        return httpx.post(self.url + path, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60, trust_env=False)

    def metrics(self) -> dict[str, float]:
        lines = self.get("/metrics").text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(60)


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "index"
    retrieval.index(PASSAGES, folder)
    return folder


@pytest.fixture(scope="session")
def local(index: Path) -> Iterator[retrieval.Retriever]:
    """What the servers search, without them."""
    with retrieval.open(index, kernel="numpy") as one:
        yield one


@pytest.fixture(scope="session")
def start(index: Path) -> Start:
    """Start a server with these options."""

    @contextlib.contextmanager
    def begin(*options: str, token: str = "", over: Path = index, port: int = 0) -> Iterator[Served]:
        command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "search", str(over)]
        # compiled code would be loaded by each of them
        command += ["--port", str(port), "--set", "kernel=numpy", *options]
        environment = {**os.environ, "TOOLENVS_SEARCH_TOKEN": token}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[-1]
            yield Served(url, process)
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()

    return begin


@pytest.fixture(scope="session")
def served(start: Start) -> Iterator[Served]:
    """One server with its defaults."""
    with start() as one:
        yield one
