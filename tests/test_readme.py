"""Every snippet of the README runs, in order, in one namespace; every path and command that it names exists."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_TEXT = (_ROOT / "README.md").read_text("utf-8")


def test_python_snippets_run() -> None:
    snippets = re.findall(r"```python\n(.*?)^```$", _TEXT, re.DOTALL | re.MULTILINE)
    assert len(snippets) >= 5
    namespace: dict[str, object] = {}
    for number, snippet in enumerate(snippets, start=1):
        exec(compile(snippet, f"README snippet {number}", "exec"), namespace)
    assert "trajectories" in namespace


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", _TEXT))
def test_links_lead_somewhere(target: str) -> None:
    assert target.startswith("https://") or (_ROOT / target).exists(), target


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z]+)", _TEXT))))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("extra", sorted(set(re.findall(r"^\| `([a-z]+)` \|", _TEXT, re.MULTILINE))))
def test_extras_exist(extra: str) -> None:
    assert f"\n{extra} = [" in (_ROOT / "pyproject.toml").read_text("utf-8")
