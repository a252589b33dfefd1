"""Index folders over the hand-made passages, and what Lucene recorded of them."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from toolenvs import retrieval

DATA = Path(__file__).parent / "data"
PASSAGES = DATA / "passages.jsonl"
KERNELS = ["numpy", "numba"]


@pytest.fixture(scope="session")
def recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((DATA / "lucene.json").read_text("utf-8"))
    return recorded


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read by all tests; a test that spoils an index builds its own."""
    folder = tmp_path_factory.mktemp("retrieval") / "index"
    retrieval.index(PASSAGES, folder, ["bm25", "dense"])
    return folder


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> str:
    assert importlib.util.find_spec("numba"), "the tests need the extra 'search': make test installs it"
    return str(request.param)
