"""Solutions of games as calls, several actions in each."""

from collections.abc import Sequence
from typing import Any

_SEPARATOR = " || "
"""RAGEN's, and the default of the tool `gym`."""


def in_turns(actions: Sequence[str], per_turn: int) -> tuple[dict[str, Any], ...]:
    """Calls of the tool `gym` that do `actions` in order, `per_turn` in each."""
    starts = range(0, len(actions), per_turn)
    return tuple({"actions": _SEPARATOR.join(actions[start : start + per_turn])} for start in starts)
