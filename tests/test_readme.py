"""Every snippet of the README runs in a process of its own; every path and command that it names exists."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_TEXT = (_ROOT / "README.md").read_text("utf-8")
_SNIPPETS = re.findall(r"```python\n(.*?)^```$", _TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(1, len(_SNIPPETS) + 1))
def test_python_snippets_run_each_on_its_own(number: int, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SNIPPETS[number - 1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stderr) == (0, "")


def test_there_are_snippets() -> None:
    assert len(_SNIPPETS) >= 6


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", _TEXT))
def test_links_lead_somewhere(target: str) -> None:
    assert target.startswith("https://") or (_ROOT / target).exists(), target


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z]+)", _TEXT))))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("extra", sorted(set(re.findall(r"^\| `([a-z]+)` \|", _TEXT, re.MULTILINE))))
def test_extras_exist(extra: str) -> None:
    assert f"\n{extra} = [" in (_ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("page", sorted(_ROOT.glob("envs/*.toml")), ids=lambda page: page.stem)
def test_every_page_has_its_row_in_both_tables(page: Path) -> None:
    paper = tomllib.loads(page.read_text("utf-8"))["paper"]["url"]
    for text, link in (
        (_TEXT, f"[`toolenvs/{page.stem}`](envs/{page.name})"),
        ((_ROOT / "envs" / "README.md").read_text("utf-8"), f"[{page.stem}]({page.name})"),
    ):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {link} |")]
        assert f"]({paper})" in row
