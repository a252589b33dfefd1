"""All databases with a name, made once for the tests of this folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs import sample_databases

INDEX = Path(__file__).parent / "data" / "Packages"


@pytest.fixture(scope="package", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Not the user's, so that what a builder did before counts for nothing; the user's again for tests elsewhere."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


NAMES = [name for name in sample_databases.names() if name != "debian" or shutil.which("apt-get")]
"""Where there is no apt, `debian` is tested on a few entries by hand only."""


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def small_index(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eleven entries by hand, in the form of Debian's index."""
    monkeypatch.setenv("TOOLENVS_DEBIAN_INDEX", str(INDEX))
    return INDEX
