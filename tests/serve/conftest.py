"""Sandbox servers, and the client of SandboxFusion."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import ModuleType

import pytest

from tests.serve.serving import Served, serving


class ServedSandbox(Served):
    def run(self, code: str, **more: object) -> dict[str, object]:
        response = self.post("/run_code", {"code": code, "language": "python", **more})
        assert response.status_code == 200, response.text
        answer: dict[str, object] = response.json()
        return answer


Start = Callable[..., AbstractContextManager[ServedSandbox]]


@contextlib.contextmanager
def _start(*options: str, token: str = "") -> Iterator[ServedSandbox]:
    with serving("sandbox", "--port", "0", *options, TOOLENVS_SANDBOX_TOKEN=token) as (url, process):
        yield ServedSandbox(url, process)


@pytest.fixture(scope="session")
def start() -> Start:
    """Start a server with these options."""
    return _start


@pytest.fixture(scope="session")
def served() -> Iterator[ServedSandbox]:
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
