"""Text as a page can hold it and a reader can see it."""

import math
from collections.abc import Mapping
from typing import Any

_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {127: "\u2421"}
_DIRECTIONS = {
    code: f"[U+{code:04X}]" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
VISIBLE = _CONTROLS | _DIRECTIONS | _SURROGATES
"""What a browser would drop or obey, or no file can hold, as something to see: control characters, marks that turn text
around, halves of characters."""


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: no infinite number, no invisible character; tuples become lists."""
    if isinstance(value, str):
        return value.translate(VISIBLE)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
