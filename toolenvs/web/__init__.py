"""Web pages that agents read: recorded sites, applications and, where it is allowed, the live web.

    with web.open("sites/python3-doc") as browser:          # a recorded site; no socket is opened
        browser.search("walk a directory tree")             # -> Page(text, links, cursor, status)
        browser.click(0)
        browser.find("topdown").hits
    web.open("live", allow=["docs.python.org"])             # the live web, as far as a list of hosts goes
    web.open(app)                                           # an ASGI application, in this process

A browser is one episode. What its episodes share is a `Source`: `shared(...)` gives one, and its `browser()` begins an
episode.
"""

import importlib
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolenvs.errors import ConfigError, MissingExtraError, did_you_mean
from toolenvs.per_process import PerProcess
from toolenvs.web.document import Document, Field, Form, Link
from toolenvs.web.limits import Limits
from toolenvs.web.page import STATUSES, Page, Status

if TYPE_CHECKING:
    from toolenvs.web.browser import Browser
    from toolenvs.web.source import Source

__all__ = [
    "BACKENDS",
    "STATUSES",
    "Document",
    "Field",
    "Form",
    "Limits",
    "Link",
    "Page",
    "Status",
    "open",
    "shared",
]

BACKENDS = {
    "text": "toolenvs.web.text:TextBrowser",
    "chromium": "toolenvs.web.chromium.browser:ChromiumBrowser",
}
"""Name -> module and class of a browser, imported when asked for."""
_LIMITS = frozenset(field.name for field in fields(Limits))
_BROWSING = _LIMITS | {"count", "backend"}
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")

_shared: "PerProcess[Source]" = PerProcess()


def open(source: Any, backend: str = "text", **options: Any) -> "Browser":
    """A browser for one episode.

    Args:
        source: "sites/NAME" or the file of a recorded site; "live"; or an ASGI application.
        backend: "text", or "chromium" for real pages with scripts.
        options: limits of `Limits`; `count`, the number of tokens of a text, for `max_view_chars` to count tokens;
            those of the source (`allow`, `deny`, `home` of `toolenvs.web.live.Live`; `home`, `stateless` of
            `toolenvs.web.app.Application`; those of `toolenvs.web.recorded.Recording`); those of the backend.

    Raises:
        ConfigError: the source, backend or an option is not known.
        MissingExtraError: a package is needed and not installed; says which.
        WebError: the recorded site cannot be used, or the browser not be started.
    """
    kind = _backend(backend)
    begun = _source(source, options)
    try:
        return _browser(begun, kind, options, owns_source=True)
    except BaseException:
        begun.close()
        raise


def shared(source: Any, **options: Any) -> "Source":
    """The one source of this process with these options; a forked child gets its own. Closed at exit.

    Its `browser(backend="text", **limits)` begins an episode; rendered pages of a recorded site are kept for all.

    Raises:
        ConfigError: the source or an option is not known.
        MissingExtraError: a package is needed and not installed.
        WebError: the recorded site cannot be used.
    """
    named = str(source) if isinstance(source, str | Path) else id(source)
    key = (named, repr(sorted(options.items(), key=lambda option: option[0])))

    def make() -> "Source":
        made = _source(source, options)
        try:
            _nothing_left(options)
        except ConfigError:
            made.close()
            raise
        return made

    return _shared.get(key, make)


def begin(source: "Source", backend: str = "text", **options: Any) -> "Browser":
    """As `Source.browser`."""
    return _browser(source, _backend(backend), options, owns_source=False)


def _browser(source: "Source", kind: Any, options: dict[str, Any], *, owns_source: bool) -> "Browser":
    limits = Limits().override(**{name: options.pop(name) for name in list(options) if name in _LIMITS})
    try:
        browser: Browser = kind(source, limits, owns_source=owns_source, **options)
    except TypeError as error:
        unknown = _UNEXPECTED.search(str(error))
        if unknown is None:
            raise
        raise ConfigError(f"web: no option {unknown[1]!r}; {did_you_mean(unknown[1], _BROWSING)}") from error
    return browser


def _backend(backend: str) -> Any:
    if backend not in BACKENDS:
        raise ConfigError(f"web: no backend {backend!r}; {did_you_mean(str(backend), BACKENDS)}")
    return _imported(BACKENDS[backend])


def _source(source: Any, options: dict[str, Any]) -> "Source":
    """The source, made with those of `options` that are its own, which are taken out."""
    if callable(source):
        return _made("toolenvs.web.app:Application", source, options, ("home", "stateless"))
    if source == "live":
        names = ("allow", "deny", "home", "policy", "resolver", "network", "tls")
        return _made("toolenvs.web.live:Live", None, options, names)
    if not isinstance(source, str | Path) or not str(source):
        raise ConfigError(f"web: {source!r:.100} is no source: give 'sites/NAME', a file, 'live' or an application")
    return _made("toolenvs.web.recorded:Recording", source, options, ("home", "index", "cache_chars"))


def _made(target: str, first: Any, options: dict[str, Any], names: tuple[str, ...]) -> "Source":
    own = {name: options.pop(name) for name in names if name in options}
    kind: Callable[..., Source] = _imported(target)
    return kind(**own) if first is None else kind(first, **own)


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name in ("httpx", "httpcore", "idna", "selectolax"):
            raise MissingExtraError(error.name, "web", "browsing") from error
        raise


def _nothing_left(options: dict[str, Any]) -> None:
    for name in options:
        raise ConfigError(f"web: no option {name!r} of this source; limits are given to its browser()")
