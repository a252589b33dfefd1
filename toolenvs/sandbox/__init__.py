"""Where programs that a model writes may run.

    with sandbox.open("local", memory_mb=512) as box:
        box.run("print(2 + 2)").stdout            # a fresh interpreter
        with box.session() as session:            # one that keeps its state
            session.run("x = 2")
            session.run("x + 2").value

A backend is one module with a class derived from `Box`; see `BACKENDS`.
"""

import importlib
from typing import Any

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.per_process import PerProcess
from toolenvs.sandbox.base import Box, Session
from toolenvs.sandbox.probe import Tier, probe
from toolenvs.sandbox.result import Result, Status

__all__ = ["BACKENDS", "Box", "Result", "Session", "Status", "Tier", "open", "probe", "shared"]

BACKENDS = {
    "local": "toolenvs.sandbox.local:LocalBox",
    "docker": "toolenvs.sandbox.docker.box:DockerBox",
    "remote": "toolenvs.sandbox.remote:RemoteBox",
}
"""Name -> module and class, imported when asked for."""

_shared = PerProcess[Box]()


def open(backend: str = "local", **options: Any) -> Box:
    """A box of `backend`.

    Args:
        backend: a name of `BACKENDS`.
        options: for "local": `min_isolation` ("fork" or "namespace"), `seed`, and any limit of `sandboxes/local.toml`
            (`memory_mb`, `timeout_s`, `output_chars`, `max_sessions`, ...); for "docker": those limits, `seed`, and any
            key of `sandboxes/docker.toml` (`image`, `runtime`, `containers`, ...).

    Raises:
        ConfigError: the backend or an option is not known.
        IsolationError: nothing here is as strong as `min_isolation`.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"no sandbox {backend!r}; {did_you_mean(backend, BACKENDS)}")
    module, _, name = BACKENDS[backend].partition(":")
    box: Box = getattr(importlib.import_module(module), name)(**options)
    return box


def shared(backend: str = "local", **options: Any) -> Box:
    """The one box of this process with these options; a forked child gets its own. Closed when the process exits.

    Raises:
        ConfigError: the backend or an option is not known.
        IsolationError: nothing here is as strong as `min_isolation`.
    """
    return _shared.get((backend, *sorted(options.items())), lambda: open(backend, **options))
