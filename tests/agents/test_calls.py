"""Arguments that fit the schemas that tools of others have."""

from typing import Any

import pytest

from toolenvs.agents.calls import fill


@pytest.mark.parametrize(
    ("schema", "fitting"),
    [
        ({"type": "string"}, "x"),
        ({}, "x"),
        ({"type": ["string", "null"]}, "x"),
        ({"type": ["null", "integer"]}, 0),
        ({"type": ["null"]}, None),
        ({"type": "null"}, None),
        (True, "x"),
        ({"type": "array", "items": True}, ["x"]),
        ({"type": "array"}, ["x"]),
        ({"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]}, 3),
        ({"oneOf": [{"type": "boolean"}]}, True),
        ({"const": 3}, 3),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 0}),
    ],
)
def test_every_kind_of_argument(schema: Any, fitting: Any) -> None:
    assert fill({"properties": {"q": schema}, "required": ["q"]}, "x") == {"q": fitting}


def test_what_is_not_required() -> None:
    assert fill({"properties": {"a": {}, "b": {}}}, "x") == {"a": "x"}
    assert fill({"properties": {}, "required": ["q"]}, "x") == {"q": "x"}
    assert fill({}, "x") == {}
