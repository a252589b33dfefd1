"""Find a tool, judge, protocol, reward term or estimator by name: one module each, and no list to keep.

A name is the name of a module in the package that holds its kind; `"some.module:attribute"` names one from elsewhere.
"""

import importlib
import pkgutil
from typing import Any

from toolenvs.errors import PageError, did_you_mean


def names(package: str) -> list[str]:
    """Every name that `find` knows in `package`, sorted."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return sorted(module.name for module in found if not module.name.startswith("_"))


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
    try:
        return getattr(importlib.import_module(module), wanted)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise PageError(f"{where}: there is no {name!r} in {package}; {did_you_mean(name, names(package))}") from None
    except AttributeError:
        raise PageError(f"{where}: module {module!r} defines no {wanted!r}") from None
