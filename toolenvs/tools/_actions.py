"""What tools share that offer several actions by one function: its schema, and which action a call names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolenvs.errors import ToolError


def parameters(
    actions: Sequence[str],
    takes: Mapping[str, Iterable[str]],
    arguments: Mapping[str, tuple[Mapping[str, Any], str]],
) -> dict[str, Any]:
    """The JSON schema of a function with the argument `action` and what any of `actions` takes.

    Args:
        actions: those that are offered.
        takes: action to the names of its arguments.
        arguments: name to its schema and what it means.
    """
    taken = {name for action in actions for name in takes[action]}
    described = {name: {**kind, "description": told} for name, (kind, told) in arguments.items() if name in taken}
    action = {"type": "string", "enum": list(actions), "description": "What to do."}
    return {"type": "object", "properties": {"action": action, **described}, "required": ["action"]}


def split(arguments: Mapping[str, Any], actions: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The action that a call names, and what else it gives.

    Raises:
        ToolError: it is none of `actions`.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    action = given.pop("action", None)
    if not isinstance(action, str) or action not in actions:
        known = ", ".join(actions)
        raise ToolError(f"the argument 'action' must be one of {known}" + (f", not {action!r:.40}" if action else ""))
    return action, given


def must_take(action: str, name: str, wanted: Sequence[str]) -> None:
    """Refuse an argument that an action does not take.

    Raises:
        ToolError: `name` is none of `wanted`.
    """
    if name not in wanted:
        takes = ", ".join(map(repr, wanted)) or "no further argument"
        raise ToolError(f"{action} takes {takes}, not {name!r:.40}")
