"""The documentation as a site: it builds without a warning, and has a page for every environment."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    told = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout) == (0, ""), told.stderr
    return folder


def test_every_environment_has_its_page_with_its_settings_and_a_transcript(site: Path) -> None:
    for page in (_ROOT / "envs").glob("*.toml"):
        text = (site / "environments" / f"{page.stem}.html").read_text("utf-8")
        assert f"toolenvs/{page.stem}" in text
        assert '<span class="policy">' in text
        assert "gym.make" in text


def test_the_api_is_there(site: Path) -> None:
    assert 'id="toolenvs.env.ToolEnv.step"' in (site / "api" / "environments.html").read_text("utf-8")
    assert 'id="toolenvs.sandbox.open"' in (site / "api" / "sandbox.html").read_text("utf-8")


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        fetched = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:[^\"]+)\"", path.read_text("utf-8"))
        assert [url for url in fetched if "canonical" not in url] == [], path.name
