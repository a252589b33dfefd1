"""One Chromium for all tests, and a small site that has everything a page may do."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolenvs.web.app import Application
from toolenvs.web.chromium import containment
from toolenvs.web.chromium.browser import ChromiumBrowser
from toolenvs.web.chromium.engine import Engine
from toolenvs.web.limits import Limits

PATIENT_S = 120.0
"""So long that a busy machine meets no deadline where a test expects none."""


class Site:
    """An application of pages by path; a page may be a function of the request."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.asked: list[tuple[str, str, bytes]] = []
        self.cookies: list[str] = []

    def add(self, path: str, body: Any, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        self.pages[path] = body, kind, headers

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path = scope["path"]
        self.asked.append((scope["method"], path, body))
        self.cookies += [value.decode() for name, value in scope["headers"] if name == b"cookie"]
        status, headers = 200, {}
        if path in self.pages:
            answer, kind, headers = self.pages[path]
            answer = answer(scope, body) if callable(answer) else answer
            status = 302 if "location" in headers else 200
        else:
            answer, kind, status = "", "text/plain", 404
        content = answer if isinstance(answer, bytes) else answer.encode()
        told = [(b"content-type", kind.encode()), *((k.encode(), v.encode()) for k, v in headers.items())]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": content})


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with Engine(containment.setting()) as one:
        yield one


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def browse(engine: Engine, site: Site) -> Iterator[Callable[..., ChromiumBrowser]]:
    """Browsers of the site, closed at the end."""
    opened: list[ChromiumBrowser] = []

    def begin(**options: Any) -> ChromiumBrowser:
        limits = Limits(timeout_s=options.pop("timeout_s", PATIENT_S))
        opened.append(ChromiumBrowser(Application(site), limits, engine=engine, **options))
        return opened[-1]

    yield begin
    for browser in opened:
        browser.close()


def descendants(of: int) -> set[tuple[int, str]]:
    """The processes below one, each with the time that it began, which with its id is its own for good."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = set(), [of]
    while todo:
        for child in parents.get(todo.pop(), ()):
            todo.append(child)
            found.add((child, (_stat(child) or ["", "", *[""] * 20])[19]))
    return found


def alive(processes: set[tuple[int, str]]) -> set[int]:
    """Those of the processes that still run."""
    return {
        pid
        for pid, began in processes
        if (fields := _stat(pid)) and fields[19] == began and fields[0] not in ("Z", "X")
    }


def _stat(pid: int) -> list[str] | None:
    """From the third field of /proc/PID/stat on: state, parent, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files of the browsers that a test starts; its name is short, for sockets."""
    with tempfile.TemporaryDirectory(prefix="tenv-") as folder:
        os.chmod(folder, 0o777)  # browsers may run as somebody else
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def left(folder: Path) -> list[str]:
    """What browsers left in the folder for temporary files."""
    names = ("playwright", "toolenvs-chromium", ".org.chromium", "org.chromium")
    return [name for name in os.listdir(folder) if name.startswith(names)]
