"""`toolenvs doctor`."""

import importlib.metadata
import sys

import pytest

from toolenvs import sandbox
from toolenvs.cli import doctor
from toolenvs.errors import MissingExtraError
from toolenvs.rewards import maths
from toolenvs.web import chromium
from toolenvs.web.chromium import containment

HELD = chromium.Tier("flags", True, "Chromium 1", "much")
_probe = chromium.probe


@pytest.fixture(autouse=True)
def no_browser_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "probe", lambda: [HELD])


def test_what_holds_a_real_browser_here_is_told(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "probe", _probe)
    output = run("doctor").output
    told = output.partition("real browser\n")[2].partition("\noptional")[0].splitlines()
    assert [line.split()[1].rstrip(":") for line in told if not line.startswith("     ")][:3] == [
        *containment.ISOLATIONS
    ]
    assert any(line.split()[:2] == ["yes", "flags:"] and "Chromium" in line for line in told)
    works = next(line.split()[1].rstrip(":") for line in told if line.startswith("  yes"))
    assert f"  pages run in {works} unless" in output


def test_without_a_browser_or_its_driver_the_defaults_still_work(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(containment.EXECUTABLE, raising=False)
    result = run("doctor")
    assert result.exit_code == 0
    assert "no    Chromium: the Chromium backend needs a browser, and no chromium on the PATH" in result.output
    monkeypatch.setenv(containment.EXECUTABLE, "/bin/true")
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    result = run("doctor")
    assert result.exit_code == 0
    assert "no    Chromium: the Chromium backend needs the package 'playwright'" in result.output


def test_no_way_to_hold_a_browser_fails_nothing(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "probe", lambda: [chromium.Tier("flags", False, "it does not start", "much")])
    result = run("doctor")
    assert result.exit_code == 0
    assert "no    flags: it does not start" in result.output
    assert "pages run in" not in result.output


def test_the_defaults_work_here(run) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert "yes   exact arithmetic: 1/2 = 0.5: match" in result.output
    assert "does not cover: " in result.output


def test_without_a_sandbox_the_exit_code_is_1(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "probe", lambda: [sandbox.Tier("fork", False, "no such call here", "much")])
    result = run("doctor")
    assert result.exit_code == 1
    assert "no    fork: no such call here" in result.output


def test_a_missing_extra_is_told_and_fails_nothing(run, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = maths.judge

    def without_mpmath(*, gold: str, answer: str):
        if "sqrt" in gold:
            raise MissingExtraError("mpmath", "maths", "comparing irrational values")
        return judge(gold=gold, answer=answer)

    version = importlib.metadata.version

    def hidden(package: str) -> str:
        if package == "mpmath":
            raise importlib.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(maths, "judge", without_mpmath)
    monkeypatch.setattr(importlib.metadata, "version", hidden)
    result = run("doctor")
    assert result.exit_code == 0
    assert "no    irrational values: comparing irrational values needs the package 'mpmath'" in result.output
    assert "no    maths: mpmath missing" in result.output
    assert "-m pip install 'toolenvs[maths]'" in result.output


def test_extras_are_those_of_the_project_installed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = doctor._extras()

    def unknown(package: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "requires", unknown)
    from_checkout = doctor._extras()
    assert from_checkout["openai"] == ["httpx"]
    assert {"cli", "train", "maths", "data"} <= from_checkout.keys()
    assert from_checkout.keys().isdisjoint({"all", "dev", "test"})
    assert installed.keys() <= from_checkout.keys()
