"""Calls that scripts write without knowing what a tool is: arguments that fit its schema."""

from collections.abc import Mapping
from typing import Any

from toolenvs.blueprint import Blueprint
from toolenvs.protocols.base import Call


def write_call(blueprint: Blueprint, content: str, *, target: int = 0) -> str:
    """A turn that calls one of the page's tools with `content`.

    Args:
        blueprint: the environment.
        content: what stands wherever the tool wants text.
        target: which of `protocol.targets` is called.

    Raises:
        LookupError: the page can call nothing.
    """
    tool, argument = blueprint.protocol.targets[target]
    arguments = {argument: content} if argument else fill(blueprint.tools[tool].parameters, content)
    return blueprint.protocol.write_call(Call(tool, arguments))


def fill(schema: Mapping[str, Any], content: str) -> dict[str, Any]:
    """The arguments that a tool requires, or its first one; `content` wherever text is wanted."""
    known = schema.get("properties", {})
    wanted = schema.get("required") or list(known)[:1]
    return {name: _fitting(known.get(name, {}), content) for name in wanted}


def _fitting(schema: Any, content: str) -> Any:
    """A value that fits; of several kinds, of the first that is not null."""
    if not isinstance(schema, Mapping):  # true: anything fits
        return content
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf"):
        if schema.get(name):
            return next((value for one in schema[name] if (value := _fitting(one, content)) is not None), None)
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind == "array":
        return [_fitting(schema.get("items", {}), content)]
    if kind == "object":
        return fill(schema, content) if schema.get("required") else {}
    plain = {"integer": schema.get("minimum", 0), "number": schema.get("minimum", 0.0), "boolean": True, "null": None}
    return plain.get(kind, content)
