"""Small sites where named ones are looked for."""

from pathlib import Path

import pytest

from tests.web.facts import small


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "toolenvs" / "sites"


@pytest.fixture(params=small.PAGES)
def site(request: pytest.FixtureRequest, cache: Path) -> str:
    small.build(request.param)
    name: str = request.param
    return name
