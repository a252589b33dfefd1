"""What crosses the wire comes back equal, types included."""

import datetime
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import TaskError
from toolenvs.remote import wire
from toolenvs.tasks.task import Task

_NAMES = st.text(max_size=8) | st.sampled_from(["$tuple", "$bytes", "$pairs", "$"])
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(_NAMES | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)
_MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=6)}), max_size=4
)


def across(value: Any) -> Any:
    return json.loads(json.dumps(value))


def types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [types(item) for item in value]
    return type(value)


@given(_VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    back = wire.unpack(across(wire.pack(value)))
    assert back == value
    assert types(back) == types(value)


def test_lone_surrogates_and_numbers_of_numpy_cross() -> None:
    assert wire.unpack(across(wire.pack(("\ud800", np.int64(3), np.float32(0.5))))) == ("\ud800", 3, 0.5)


@pytest.mark.parametrize("value", [object(), {1, 2}, [lambda: 0], np.arange(3), datetime.date(2026, 1, 2)])
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        wire.pack(value)


@given(st.lists(_MESSAGES, min_size=1, max_size=5))
def test_a_client_that_knows_the_last_messages_learns_the_next(conversation: list[wire.Messages]) -> None:
    there: wire.Messages = []
    here: wire.Messages = []
    for messages in conversation:
        now = wire.State(
            stop=("a",), messages=messages, usage={}, success=None, metrics={}, ending=None, reading=False, turns=1,
            tokens_left=None, segments=1,
        )  # fmt: skip
        told = across(wire.state_to_json(now, there))
        there = now.messages
        known = wire.state_from_json(told, here)
        assert known == now
        here = known.messages


def test_a_message_that_grows_is_not_sent_again() -> None:
    long = {"role": "assistant", "content": "x" * 10_000}
    now = wire.State(
        stop=(), messages=[{"role": "user", "content": "y" * 10_000}, {**long, "content": long["content"] + "end"}],
        usage={}, success=None, metrics={}, ending=None, reading=False, turns=1, tokens_left=None, segments=1,
    )  # fmt: skip
    told = wire.state_to_json(now, [{"role": "user", "content": "y" * 10_000}, long])
    assert len(json.dumps(told)) < 400


def test_tasks_come_back_equal() -> None:
    task = Task(
        id="a", question="q", golds=("1", "2"), messages=({"role": "user", "content": "q"},), rendered=True, source="s",
        extra={"rows": ((1, "a"), (2, b"b")), "calls": [{"action": "open"}]},
    )  # fmt: skip
    assert wire.task_from_json(across(wire.task_to_json(task))) == task


def test_a_task_that_cannot_be_sent_is_named_and_its_column_too() -> None:
    """Files of tasks may hold dates, which nobody but a server minds."""
    task = Task(id="a", question="q", extra={"level": 3, "made": datetime.date(2026, 1, 2)})
    with pytest.raises(TaskError, match=r"task 'a' cannot be sent to a client: extra\['made'\]: date has no form"):
        wire.task_to_json(task)
