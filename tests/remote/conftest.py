"""Servers of environments in a thread of this process, set up as the command sets them up."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.serve.serving import in_thread
from toolenvs.codec import TokenCodec
from toolenvs.serve import run
from toolenvs.serve.env import Settings
from toolenvs.serve.env.app import _Server


@dataclass
class Served:
    """A server that can be stopped, and started again on its port."""

    settings: Settings
    codec: TokenCodec | None = None
    port: int = 0
    app: Any = None
    _running: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sessions(self) -> int:
        return len(self.app._operations.sessions)

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        from toolenvs.serve import metrics

        lines = metrics.render(self.app._metrics).splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split("{")[0].split()[0] == f"toolenvs_env_{name}")

    def start(self) -> None:
        listener = run.bind("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        self.app = _Server(self.settings, self.codec)
        set_up = run.config(
            self.app.application(),
            head_s=self.settings.body_s,
            grace_s=1,
            quick=True,
            max_message_bytes=self.settings.max_body_bytes,
        )
        self._running.enter_context(in_thread(set_up, listener))

    def stop(self) -> None:
        self._running.close()


@contextlib.contextmanager
def serving(codec: TokenCodec | None = None, **settings: Any) -> Iterator[Served]:
    """A server with these settings."""
    served = Served(Settings(**settings), codec)
    served.start()
    try:
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="session")
def serve() -> Any:
    """Start a server with these settings."""
    return serving


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One server, which lets clients choose a stateful interpreter and smaller task sets."""
    allow = (*Settings().allow, "tools.python.session", "tasks.set", "prompt.user")
    with serving(allow=allow) as one:
        yield one


@pytest.fixture(params=["websocket", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)
