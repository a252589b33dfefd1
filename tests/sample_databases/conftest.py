"""All databases with a name, made once for the tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs import sample_databases

INDEX = Path(__file__).parent / "data" / "Packages"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Not the user's, so that what a builder did before counts for nothing."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(params=sample_databases.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def small_index(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eleven entries by hand, in the form of Debian's index."""
    monkeypatch.setenv("TOOLENVS_DEBIAN_INDEX", str(INDEX))
    return INDEX


def has_whole_index() -> bool:
    """Whether the index in use is apt's."""
    return os.environ.get("TOOLENVS_DEBIAN_INDEX") is None
