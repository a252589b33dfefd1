"""When two cells hold the same value, whatever engine they came from.

Numbers are equal by value: 1 is 1.0 and TRUE is 1. Text never equals a number, and NULL equals only NULL: neither ""
nor 0. Two whole numbers are compared exactly; a tolerance is for floating point alone.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_NAN = ("number", "nan")
_KINDS = {
    type(None): "null", bool: "number", int: "number", float: "number", Decimal: "number", str: "text", bytes: "blob",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far two numbers may be apart, where at least one is floating point."""

    relative: float = 1e-6
    """Of the larger of the two."""
    absolute: float = 1e-9
    decimals: int | None = None
    """Where the question says how many decimals are wanted: numbers that round to the same are the same."""

    def same(self, a: float, b: float) -> bool:
        """Whether two numbers, as `plain` gives them, are equal as far as can be told."""
        if a == b:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return False
        try:
            bound = max(self.relative * max(abs(a), abs(b)), self.absolute)
            if self.decimals is not None:
                bound = max(bound, 0.5 * 10.0**-self.decimals * (1 + 1e-9))
            return math.isfinite(bound) and abs(a - b) <= bound
        except OverflowError:  # a whole number beyond floating point, beside one within it
            return False


def kind(cell: Any) -> str:
    """ "null", "number", "text", "blob", or the name of another type, such as "date"."""
    return _KINDS.get(type(cell)) or type(cell).__name__


def plain(cell: Any) -> Any:
    """The cell as something hashable that equals its like: decimals as int or float, NaN as equal to itself."""
    if isinstance(cell, Decimal):
        if not cell.is_finite():
            return _NAN if cell.is_nan() else float(cell)
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, float):
        return _NAN if cell != cell else cell
    if isinstance(cell, str | int | bytes) or cell is None:
        return cell
    if isinstance(cell, bytearray | memoryview):
        return bytes(cell)
    if isinstance(cell, list | tuple):
        return ("list", *map(plain, cell))
    return (type(cell).__name__, repr(cell))
