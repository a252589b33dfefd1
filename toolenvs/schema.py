"""Read tables (TOML, keywords) into frozen dataclasses, strictly: errors name the file, the key and the remedy."""

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from toolenvs.errors import PageError, did_you_mean

T = TypeVar("T")


@functools.cache
def fields(cls: type) -> dict[str, Any]:
    """Name and type of each field of a dataclass."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def read(cls: type[T], table: Any, where: str) -> T:
    """An instance of the dataclass `cls` from `table`.

    Args:
        cls: a dataclass of str, bool, int, float, literals, optional ones, tuples, mappings and dataclasses.
        table: a mapping with the fields' names as keys.
        where: file and table, for the error message.

    Raises:
        PageError: a key is unknown or missing, or a value has the wrong type or is out of range.
    """
    if not isinstance(table, Mapping):
        raise PageError(f"{where}: a table is needed, not {table!r}")
    known = fields(typing.cast(type, cls))
    for key in table:
        if key not in known:
            raise PageError(f"{where}: unknown key {key!r}; {did_you_mean(str(key), known)}")
    values = {key: _value(known[key], value, f"{where}: {key}") for key, value in table.items()}
    missing = [field.name for field in dataclasses.fields(cls) if _required(field) and field.name not in values]  # type: ignore[arg-type]
    if missing:
        raise PageError(f"{where}: missing {', '.join(map(repr, missing))}")
    try:
        return cls(**values)
    except ValueError as error:  # a value out of range, found by the dataclass itself
        raise PageError(f"{where}: {error}") from None


def at_least(least: float, **values: float | None) -> None:
    """Hold numbers of a table against their least value; None passes.

    Raises:
        ValueError: one is smaller, or not a number; `read` adds the file and the table.
    """
    for name, value in values.items():
        if value is not None and not value >= least:
            raise ValueError(f"{name} = {value:g} is out of range: at least {least:g} is needed")


def _required(field: "dataclasses.Field[Any]") -> bool:
    nothing = dataclasses.MISSING
    return field.init and field.default is nothing and field.default_factory is nothing


def _value(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        options = [option for option in arguments if option is not type(None)]
        if value is None and len(options) < len(arguments):
            return None
        return _value(options[0], value, where)
    if origin is Literal:
        if value not in arguments:
            raise PageError(f"{where}: {value!r} is not allowed; {did_you_mean(str(value), map(str, arguments))}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise PageError(f"{where}: a list is needed, not {value!r}")
        return tuple(_value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise PageError(f"{where}: a table is needed, not {value!r}")
        return {str(key): _value(arguments[1], item, f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return value if isinstance(value, kind) else read(kind, value, where)  # type: ignore[arg-type]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise PageError(f"{where}: the number is too large") from None
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise PageError(f"{where}: {_NAMES.get(kind, str(kind))} is needed, not {value!r}")
    return value


_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
