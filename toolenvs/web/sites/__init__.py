"""Recorded sites by their names: those made from a distribution's packages, and the linked pages of fictional worlds.

`web.open("sites/git-doc")` reads what `toolenvs site build git-doc` made; `web.open("sites/world:1000")` needs no file.
"sites/git-doc:edited:7" is a copy in which facts were changed, drawn by the seed 7. A site of your own is known by its
file.
"""

import os
from pathlib import Path
from typing import Protocol

from toolenvs import site_facts
from toolenvs.errors import ConfigError, PageError, TaskError, WebError, did_you_mean
from toolenvs.web.sites.debian import SITES, record_package
from toolenvs.web.sites.edited import EditedSite
from toolenvs.web.sites.injected import InjectedWorld
from toolenvs.web.sites.world import WorldSite
from toolenvs.web.store import PageStore, Recorded
from toolenvs.world import injections

__all__ = ["SITES", "PageStore", "Store", "build", "file_of", "names", "open_store"]

_PREFIX = "sites/"


class Store(Protocol):
    """What a recorded site gives, whatever it is kept in."""

    home: str
    fingerprint: str

    def get(self, url: str) -> Recorded | None:
        """As `PageStore.get`."""

    def urls(self) -> list[str]:
        """As `PageStore.urls`."""

    def __contains__(self, url: str) -> bool: ...

    def __len__(self) -> int: ...

    def close(self) -> None:
        """As `PageStore.close`."""


def names() -> list[str]:
    """Of the sites that can be built."""
    return sorted(SITES)


def file_of(name: str) -> Path:
    """Where the site of that name lies once it is built: under `$XDG_CACHE_HOME/toolenvs/sites`, else `~/.cache`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "toolenvs" / "sites" / f"{name}.site"


def build(name: str, path: str | Path | None = None) -> Path:
    """Make a site from the package that holds it; gives its file.

    The package is taken as it is installed, else downloaded by apt and unpacked, for which nobody need be root.

    Args:
        name: one of `names()`.
        path: the file to write; by default where `open_store` looks for it.

    Raises:
        ConfigError: there is no site of that name, or its package cannot be had here; says what to do.
    """
    name = name.removeprefix(_PREFIX)
    if name not in SITES:
        raise ConfigError(f"no site is called {name!r}; {did_you_mean(name, SITES)}")
    target = file_of(name) if path is None else Path(path)
    record_package(SITES[name], target)
    return target


def open_store(source: str | Path) -> Store:
    """The store of a site.

    Args:
        source: a file; "sites/NAME" of a site that was built, or "sites/NAME:edited:SEED" of a changed copy of it;
            "sites/world:PAGES" or "sites/world:PAGES:SEED", with ":injected:SEED" behind it for pages that address
            the model.

    Raises:
        ConfigError: no site is called so.
        WebError: it was not built yet, or its file cannot be used; says what to do.
    """
    name = str(source)
    if not name.startswith(_PREFIX) or Path(source).is_file():
        return PageStore(source)
    name = name.removeprefix(_PREFIX)
    try:
        base, seed = injections.split(name)
        world = WorldSite.named(base)
    except (PageError, TaskError) as error:
        raise ConfigError(f"web: {error}") from error
    if world is not None:
        return world if seed is None else InjectedWorld(world.world, seed)
    try:
        name, seed = site_facts.named(name)
        return _recorded(name) if seed is None else EditedSite(_recorded(name), name, seed)
    except TaskError as error:
        raise ConfigError(f"web: {error}") from error


def _recorded(name: str) -> PageStore:
    if name not in SITES:
        raise ConfigError(f"web: no site is called {name!r}; {did_you_mean(name, [*SITES, 'world:1000'])}")
    path = file_of(name)
    if not path.is_file():
        raise WebError(f"the site {name!r} is not on this machine yet: run `toolenvs site build {name}` once")
    return PageStore(path)
