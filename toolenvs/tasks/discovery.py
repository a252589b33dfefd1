"""Plug-in folders: each module of a package whose name has no leading underscore is one plug-in."""

import importlib
import pkgutil
from types import ModuleType

from toolenvs.errors import TaskError, did_you_mean


def plugin_names(package: ModuleType) -> list[str]:
    """The names of the plug-ins in `package`, sorted, without importing them."""
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def plugin(package: ModuleType, name: str, *, what: str) -> ModuleType:
    """The plug-in called `name`.

    Raises:
        TaskError: there is none; `what` says in the message what was sought.
    """
    names = plugin_names(package)
    if name not in names:
        raise TaskError(f"no {what} is called {name!r}; {did_you_mean(name, names)}")
    return importlib.import_module(f"{package.__name__}.{name}")
