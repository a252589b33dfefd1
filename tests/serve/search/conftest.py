"""Search servers, and what they search."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.serve.serving import Served, serving
from toolenvs import retrieval

PASSAGES = Path(__file__).parents[2] / "retrieval" / "data" / "passages.jsonl"
Start = Callable[..., AbstractContextManager[Served]]


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
        # compiled code would be loaded by each of them
        plain = ("--port", str(port), "--set", "kernel=numpy")
        with serving("search", str(over), *plain, *options, TOOLENVS_SEARCH_TOKEN=token) as (url, process):
            yield Served(url, process)

    return begin


@pytest.fixture(scope="session")
def served(start: Start) -> Iterator[Served]:
    """One server with its defaults."""
    with start() as one:
        yield one
