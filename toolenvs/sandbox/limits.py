"""The limits of the local backend (`sandboxes/local.toml`) and what programs may import (`sandboxes/packages.toml`)."""

import importlib.metadata
import os
import sys
import sysconfig
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from toolenvs import assets
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.sandbox import users
from toolenvs.sandbox.imports import kind
from toolenvs.sandbox.walls import Plan

KINDS = ("bare", "full", "wide")
"""Of fork servers; each has imported more than the one before."""
MOST = 2**31 - 1
"""Of any limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use; the meaning of each field stands in `sandboxes/local.toml`."""

    memory_mb: int
    timeout_s: float
    grace_s: float
    output_chars: int
    code_chars: int
    files_mb: int
    files: int
    open_files: int
    processes: int
    cpus: float
    max_sessions: int
    max_running: int
    unprivileged_uid: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST:
                raise ConfigError(f"sandbox: {field.name} must be a positive number, not {value!r} (at most {MOST})")

    def override(self, options: dict[str, Any]) -> "Limits":
        """These limits with some replaced.

        Raises:
            ConfigError: an option is unknown or no positive number.
        """
        known = {field.name for field in fields(self)}
        for name in options:
            if name not in known:
                raise ConfigError(f"sandbox: no option {name!r}; {did_you_mean(name, known)}")
        return replace(self, **options)


@cache
def page() -> dict[str, Any]:
    """The page as it stands."""
    return tomllib.loads((assets.folder("sandboxes") / "local.toml").read_text(encoding="utf-8"))


@cache
def listed() -> dict[str, list[str]]:
    """`sandboxes/packages.toml`: `packages` that programs may import; which the `extra` names; which are `optional`."""
    return tomllib.loads((assets.folder("sandboxes") / "packages.toml").read_text(encoding="utf-8"))


def missing() -> list[str]:
    """Listed packages that are not installed here, the optional ones left out."""
    needed = [name for name in listed()["packages"] if name not in listed()["optional"]]
    return [name for name in needed if not any(importlib.metadata.distributions(name=name))]


def defaults() -> Limits:
    """The limits of the page."""
    return Limits(**page()["limits"])


def plan(tier: str, name: str, limits: Limits, *, subprocesses: bool = False, seed: int = 0) -> Plan:
    """What a fork server of `tier` and of the kind `name` ("bare", "full" or "wide") is told."""
    programs = page()["programs"]
    packages, sites, importable = _packages()
    readable, hidden = _interpreter()
    kinds = KINDS[: KINDS.index(name) + 1]
    return Plan(
        tier=tier,
        readable=[*readable, *(_commands() if subprocesses else ())],
        hidden=list(hidden),
        packages=list(packages),
        sites=list(sites),
        importable=list(importable),
        preload=[module for one in kinds for module in programs[f"preload_{one}"]],
        warm_up=programs["warm_up"] if name != "bare" else "",
        output_chars=limits.output_chars,
        memory_mb=limits.memory_mb,
        files_mb=limits.files_mb,
        files=limits.files,
        open_files=limits.open_files,
        processes=limits.processes,
        sessions=limits.max_sessions,
        unprivileged_uid=limits.unprivileged_uid,
        users=users.span(limits.unprivileged_uid),
        subprocesses=subprocesses,
        executable=os.path.realpath(sys.executable),
        seed=int(seed) % 2**64,
    )


@cache
def third_party() -> frozenset[str]:
    """Names that programs may import and that are installed here, beyond the standard library."""
    return frozenset(_packages()[2])


def kind_for(code: str) -> str:
    """The kind of fork server that a program needs."""
    if "import" not in code:
        return KINDS[0]
    return kind(code, third_party(), page()["programs"]["wide"])


@cache
def _packages() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Files and folders of the listed distributions, the folders that hold these, the names they can be imported by."""
    paths: dict[str, None] = {}
    sites: dict[str, None] = {}
    names: dict[str, None] = {}
    for name in listed()["packages"]:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        site = os.path.realpath(str(distribution.locate_file("")))
        sites[site] = None
        for top in {file.parts[0] for file in distribution.files or ()} | {name}:
            if top in ("..", "__pycache__") or not os.path.exists(f"{site}/{top}"):
                continue
            paths[f"{site}/{top}"] = None
            if not top.endswith((".dist-info", ".egg-info", ".libs")):
                names[top.partition(".")[0]] = None
    return tuple(paths), tuple(sites), tuple(names)


def _commands() -> tuple[str, ...]:
    """What a program that may start others finds to start."""
    paths = ("/usr/bin", "/bin", os.path.realpath(sys.executable))
    return tuple(path for path in paths if os.path.exists(path))


@cache
def _interpreter() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the interpreter itself needs to read, and what lies within that and is no program's business."""
    base = os.path.realpath(sys.base_prefix)
    of_base = {"platbase": sys.base_exec_prefix}  # not the virtual environment's
    standard = [os.path.realpath(sysconfig.get_path(key, vars=of_base)) for key in ("stdlib", "platstdlib")]
    libraries = [
        path
        for folder in ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
        for path in (f"{folder}/{sysconfig.get_config_var('MULTIARCH') or 'none'}", folder)
    ]
    shared = [str(path) for path in Path(base, "lib").glob("libpython*.so*")]
    files = ["/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"]
    readable = dict.fromkeys(
        path for path in [*standard, *map(os.path.realpath, libraries), *shared, *files] if os.path.exists(path)
    )
    for link in ("/lib", "/lib64"):  # the loader's own name begins here
        if os.path.islink(link):
            readable[link] = None
    hidden: dict[str, None] = {}
    for folder in dict.fromkeys([*standard, *readable]):
        if os.path.isdir(folder) and not os.path.islink(folder):
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                if (
                    name in ("site-packages", "dist-packages", "test", "idlelib", "ensurepip") and folder in standard
                ) or (name.startswith(("python", "pypy", "node")) and folder not in standard and path not in standard):
                    hidden[path] = None
    return tuple(readable), tuple(hidden)
