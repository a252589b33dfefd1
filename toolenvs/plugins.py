"""Find a tool, judge, protocol, reward term or estimator by name: one module each, and no list to keep.

A name is the name of a module in the package that holds its kind; `"some.module:attribute"` names one from elsewhere.
"""

import importlib
import pkgutil
from typing import Any

from toolenvs.errors import PageError, did_you_mean


def names(package: str, attribute: str) -> list[str]:
    """Every name that `find` knows in `package`, sorted: the modules that define `attribute`, the interface apart."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    plugins = [module.name for module in found if not module.name.startswith("_") and module.name != "base"]
    return sorted(name for name in plugins if _defines(f"{package}.{name}", attribute))


def _defines(module: str, attribute: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:  # a plugin whose extra is not installed
        return True


def beside(name: str, attribute: str) -> tuple[str, str]:
    """What to `find` for an attribute that stands in the same module as the plugin `name`: a name and the attribute."""
    module, colon, _ = name.rpartition(":")
    return (f"{module}:{attribute}" if colon else name), attribute


def find(package: str, name: str, attribute: str, where: str) -> Any:
    """The plugin called `name`.

    Args:
        package: dotted name of the package that holds this kind, such as `toolenvs.tools`.
        name: a module of that package, or `"module:attribute"`.
        attribute: what every module of the kind defines, such as `Tool`.
        where: what named it, for the error message.

    Raises:
        PageError: there is no such module or attribute.
    """
    module, _, wanted = name.rpartition(":") if ":" in name else (f"{package}.{name}", "", attribute)
    if not module or not wanted or not all(map(str.isidentifier, module.split("."))):
        hint = did_you_mean(name, names(package, attribute))
        raise PageError(f"{where}: {name!r} names no module; say a name or 'some.module:attribute'; {hint}")
    try:
        return getattr(importlib.import_module(module), wanted)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        if ":" in name:
            raise PageError(
                f"{where}: {name!r}: there is no module {module!r} in the current folder or among the installed ones"
            ) from None
        hint = did_you_mean(name, names(package, attribute))
        raise PageError(f"{where}: there is no {name!r} in {package}; {hint}") from None
    except AttributeError:
        raise PageError(f"{where}: module {module!r} defines no {wanted!r}") from None
