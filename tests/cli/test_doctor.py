"""`toolenvs doctor`."""

import importlib.metadata

import pytest

from toolenvs import sandbox
from toolenvs.cli import doctor
from toolenvs.errors import MissingExtraError
from toolenvs.rewards import maths


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
