"""Values of an engine as those of a `Result`."""

from decimal import Decimal
from typing import Any

_PLAIN = (int, float, str, bytes, Decimal, type(None))


def plain(value: Any) -> Any:
    """A number, text, blob or None as it is; other ones as text: dates by ISO 8601, lists by their items."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_item(key)}: {_item(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_item, value)) + "]"
    return str(value)


def _item(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return f"x'{value.hex().upper()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return _text(value)
