"""One list of packages: for every backend, in step with the extra that installs them."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from toolenvs import assets
from toolenvs.sandbox import limits
from toolenvs.sandbox.local import LocalBox

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def _names(requirements: list[str]) -> list[str]:
    return [match[0].lower() for text in requirements if (match := _NAME.match(text))]


def _needs(name: str) -> set[str]:
    """Distributions that `name` needs on this machine, itself included."""
    found, new = set(), {name}
    while new:
        found |= new
        wanted = [text for one in new for text in importlib.metadata.requires(one) or [] if _applies(text)]
        new = set(_names(wanted)) - found
    return found


def _applies(requirement: str) -> bool:
    _, _, marker = requirement.partition(";")
    return not any(word in marker for word in ("extra", "win32", "emscripten"))


def test_the_extra_installs_what_programs_may_import() -> None:
    extras = tomllib.loads(_PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert _names(extras["python"]) == limits.listed()["extra"]


def test_what_the_packages_need_is_listed() -> None:
    listed = limits.listed()
    assert not limits.missing(), "install the `python` extra"
    needed = set().union(*map(_needs, listed["extra"]))
    assert needed <= set(listed["packages"])
    assert set(listed["packages"]) - set(listed["optional"]) <= needed
    assert set(listed["optional"]) <= set(listed["packages"])


def test_no_other_page_lists_packages() -> None:
    pages = {file.name: tomllib.loads(file.read_text("utf-8")) for file in assets.folder("sandboxes").glob("*.toml")}
    holding = {name for name, page in pages.items() if "packages" in page or "packages" in page.get("programs", {})}
    assert holding == {"packages.toml"}


@pytest.mark.parametrize("name", limits.listed()["extra"])
def test_programs_can_import_them(box: LocalBox, name: str) -> None:
    assert box.run(f"import {name}; print({name}.__name__)").stdout == f"{name}\n"


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.metadata.distributions
    monkeypatch.setattr(
        importlib.metadata, "distributions", lambda name: () if name in ("scipy", "gmpy2") else found(name=name)
    )
    assert limits.missing() == ["scipy"]
