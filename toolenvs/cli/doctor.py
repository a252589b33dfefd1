"""`toolenvs doctor`: what works on this machine, and what to install for the rest."""

import importlib.metadata
import platform
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

import toolenvs
from toolenvs.errors import ToolenvsError

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)[^;]*(?:;\s*extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"])?")
_INTERNAL = ("test", "dev", "all")
"""Extras that no command needs."""


def doctor() -> None:
    """Say what works here. The exit code is 0 where the embedded defaults (local sandbox, maths judge) work, else 1."""
    versions = {name: _version(name) or "missing" for name in ("gymnasium", "numpy")}
    typer.echo(f"toolenvs {toolenvs.__version__}, Python {platform.python_version()}, {platform.platform()}")
    typer.echo(", ".join(f"{name} {version}" for name, version in versions.items()))
    typer.secho("\nsandbox", bold=True)
    works = _sandbox()
    typer.secho("\nmaths judge", bold=True)
    works &= _judge()
    typer.secho("\nreal browser", bold=True)
    _browser()
    typer.secho("\noptional packages", bold=True)
    _packages()
    if not works:
        raise typer.Exit(1)


def _sandbox() -> bool:
    from toolenvs import sandbox

    tiers = sandbox.probe()
    for tier in tiers:
        _line(tier.works, tier.tier, tier.detail)
        typer.echo(f"        does not cover: {tier.does_not_cover}")
    if best := next((tier.tier for tier in tiers if tier.works), None):
        typer.echo(
            f"  programs run in the {best} tier unless `tier` names another; `min_isolation` refuses weaker ones"
        )
    _importable()
    return any(tier.works for tier in tiers)


def _importable() -> None:
    """What programs may import; what is missing there fails nothing."""
    from toolenvs.sandbox import limits

    missing = limits.missing()
    found = ", ".join(f"{name} {version}" for name in limits.listed()["packages"] if (version := _version(name)))
    _line(not missing, "programs may import", found or "the standard library alone")
    if missing:
        typer.echo(f"        not installed: {', '.join(missing)}")
        typer.echo(f"        {sys.executable} -m pip install 'toolenvs[python]'")


def _judge() -> bool:
    return _equal("exact arithmetic", "1/2", "0.5") & _optional(
        "irrational values", lambda: _equal("irrational values", r"\sqrt{8}", r"2\sqrt{2}")
    )


def _equal(layer: str, gold: str, answer: str) -> bool:
    from toolenvs.rewards import maths

    verdict = maths.judge(gold=gold, answer=answer)
    _line(verdict.correct, layer, f"{gold} = {answer}: {verdict.reason}, {verdict.seconds * 1000:.1f} ms")
    return verdict.correct


def _optional(layer: str, check: Callable[[], bool]) -> bool:
    """`check`, for what an extra adds: where that is not installed, the defaults still work."""
    try:
        return check()
    except ToolenvsError as error:
        _line(False, layer, str(error))
        return True


def _browser() -> None:
    """What holds Chromium here; where there is none, pages are read without their scripts, and nothing else fails."""
    try:
        from toolenvs.web import chromium
        from toolenvs.web.chromium import containment

        chromium.Engine(containment.setting())  # starts nothing, and says what is missing
    except ToolenvsError as error:
        _line(False, "Chromium", str(error))
        return
    tiers = chromium.probe()
    for tier in tiers:
        _line(tier.works, tier.isolation, tier.detail)
        typer.echo(f"        does not cover: {tier.does_not_cover}")
    if best := next((tier.isolation for tier in tiers if tier.works), None):
        typer.echo(f"  pages run in {best} unless `isolation` names another; `min_isolation` refuses weaker ones")


def _packages() -> None:
    for extra, packages in _extras().items():
        found = {name: _version(name) for name in packages}
        missing = [name for name, version in found.items() if version is None]
        detail = ", ".join(f"{name} {version or 'missing'}" for name, version in found.items())
        _line(not missing, extra, detail)
        if missing:
            typer.echo(f"        {sys.executable} -m pip install 'toolenvs[{extra}]'")


def _extras() -> dict[str, list[str]]:
    """Packages of each extra, from the installed package's metadata or from the checkout's pyproject.toml."""
    extras: dict[str, list[str]] = {}
    for requirement in _requirements():
        match = _REQUIREMENT.match(requirement)
        if match and match["extra"] and match["extra"] not in _INTERNAL:
            extras.setdefault(match["extra"], []).append(match["name"])
    return extras


def _requirements() -> Iterator[str]:
    try:
        yield from importlib.metadata.requires("toolenvs") or ()
    except importlib.metadata.PackageNotFoundError:
        project = tomllib.loads((Path(toolenvs.__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
        for extra, requirements in project["optional-dependencies"].items():
            yield from (f"{requirement}; extra == '{extra}'" for requirement in requirements)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _line(works: bool, name: str, detail: str) -> None:
    typer.echo(f"  {typer.style('yes', fg='green') if works else typer.style('no ', fg='yellow')}   {name}: {detail}")
