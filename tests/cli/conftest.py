"""The command as a person runs it, and scripts that act."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from toolenvs.cli.app import app

Run = Callable[..., Result]

SCRIPT = '''
from toolenvs.errors import EngineError
from toolenvs.rollout import Action

def half(request):
    """Right on every second task."""
    number = int(request.task.id.rpartition("/")[2])
    return f"\\\\boxed{{{request.task.gold if number % 2 else 'none'}}}"

def broken(request):
    number = int(request.task.id.rpartition("/")[2])
    if number % 2:
        raise EngineError("the endpoint is silent")
    return f"\\\\boxed{{{request.task.gold}}}"

def number(request):
    return 7

def fault(request):
    raise KeyError("a bug of the script's own")

constant = "text"

def nothing_asked():
    return "text"

def asks_more(request, context):
    return "text"

async def slow(request):
    return "text"

class Constant:
    def __init__(self):
        self.released = 0

    async def act(self, request):
        return Action(text=f"\\\\boxed{{{request.task.gold}}}")

    def release(self, key):
        self.released += 1

class Blocking(Constant):
    def act(self, request):
        return Action(text="text")

class Whole:
    def __call__(self, request):
        return f"\\\\boxed{{{request.task.gold}}}"

solver, blocking, called = Constant(), Blocking(), Whole()
'''


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "1000")  # no message is broken, whatever path it holds
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*arguments: object, typed: str | None = None) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)

    return invoke


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module of functions that act."""
    (tmp_path / "acting_script.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "acting_script"


@pytest.fixture
def not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The application of a server only comes up and shuts down."""
    from toolenvs.serve import run as runner

    async def up_and_down(application: Any) -> None:
        async with application.router.lifespan_context(application):
            pass

    monkeypatch.setattr(runner, "serve", lambda application, listener, **_: asyncio.run(up_and_down(application)))
