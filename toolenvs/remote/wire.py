"""Turns, tasks and the state of an episode as JSON and back, whole: what is read is equal to what was written.

JSON has neither tuples nor bytes, and its objects have strings for keys. Where a value holds something else, an object
with one key that begins with "$" stands for it; so nothing is ever unpickled.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from toolenvs.budget import Elapsed, Usage
from toolenvs.episode import Episode, ToolCall, Turn
from toolenvs.errors import TaskError
from toolenvs.page import Page
from toolenvs.tasks.task import Task
from toolenvs.transcript import Segment

Json = dict[str, Any]
Messages = list[dict[str, str]]
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What reading an answer raises that is none."""
_TUPLE, _BYTES, _PAIRS = "$tuple", "$bytes", "$pairs"


def pack(value: Any) -> Any:
    """`value` in plain JSON.

    Raises:
        TypeError: it holds something that is neither a number, text, bytes, a list, a tuple nor a mapping.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return {_TUPLE: [pack(item) for item in value]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, Mapping):
        plain = all(isinstance(key, str) for key in value) and not (len(value) == 1 and next(iter(value))[:1] == "$")
        if plain:
            return {key: pack(item) for key, item in value.items()}
        return {_PAIRS: [[pack(key), pack(item)] for key, item in value.items()]}
    if getattr(value, "ndim", None) == 0:  # a number of numpy's
        return pack(value.item())
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def unpack(value: Any) -> Any:
    """The inverse of `pack`.

    Raises:
        ValueError, TypeError: it was not packed by `pack`.
    """
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, content),) = value.items()
        if key == _BYTES:
            return base64.b64decode(content, validate=True)
        if key == _TUPLE:
            return tuple(unpack(item) for item in content)
        if key == _PAIRS:
            return {unpack(name): unpack(item) for name, item in content}
    return {key: unpack(item) for key, item in value.items()}


def turn_to_json(turn: Turn) -> Json:
    """One turn."""
    return {
        "observation": turn.observation,
        "segments": [segment.to_json() for segment in turn.segments],
        "calls": [{entry.name: pack(getattr(call, entry.name)) for entry in fields(call)} for call in turn.calls],
        "reward_terms": dict(turn.reward_terms),
        "ending": turn.ending,
        "fault": turn.fault,
    }


def turn_from_json(data: Json) -> Turn:
    """The inverse of `turn_to_json`.

    Raises:
        KeyError, TypeError, ValueError: it is no turn.
    """
    return Turn(
        observation=data["observation"],
        segments=tuple(map(Segment.from_json, data["segments"])),
        calls=tuple(ToolCall(**{name: unpack(value) for name, value in call.items()}) for call in data["calls"]),
        reward_terms=data["reward_terms"],
        ending=data["ending"],
        fault=data["fault"],
    )


def task_to_json(task: Task) -> Json:
    """One task, gold included.

    Raises:
        TaskError: one of its columns has no form in JSON.
    """
    for column, value in task.extra.items():
        try:
            pack(value)
        except TypeError as error:
            told = f"task {task.id!r} cannot be sent to a client: extra[{column!r}]: {error}"
            raise TaskError(f"{told}; leave the column out of the file of tasks, or write it as text") from None
    return {entry.name: pack(getattr(task, entry.name)) for entry in fields(task)}


def task_from_json(data: Json) -> Task:
    """The inverse of `task_to_json`."""
    return Task(**{name: unpack(value) for name, value in data.items()})


def page_to_json(page: Page) -> Json:
    """What a client is told of a page: prompt, protocol, budget and spaces.

    Options of tools, judge, reward and tasks stay behind: they name folders and addresses of the server's.
    """
    told: Json = {
        name: pack(_table(getattr(page, name))) for name in ("paper", "prompt", "protocol", "budget", "spaces")
    }
    return {
        "id": page.id,
        "summary": page.summary,
        **told,
        "tools": {name: {} for name in page.tools},
        "judge": {},
        "reward": [{"term": str(table.get("term"))} for table in page.reward],
        "tasks": {},
    }


def _table(part: Any) -> Json:
    return {entry.name: getattr(part, entry.name) for entry in fields(part)}


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What an episode says of itself between two turns."""

    stop: tuple[str, ...]
    messages: Messages
    usage: dict[str, Usage]
    success: bool | float | None
    metrics: dict[str, float]
    ending: str | None
    reading: bool
    turns: int
    tokens_left: int | None
    segments: int
    """Of the transcript, for the client to count."""


def state(episode: Episode) -> State:
    """The state of a running or ended episode."""
    return State(
        stop=episode.stop,
        messages=episode.messages,
        usage=episode.usage(),
        success=episode.success,
        metrics=dict(episode.metrics),
        ending=episode.ending,
        reading=episode.reading,
        turns=episode.meter.turns,
        tokens_left=episode.meter.tokens_left(),
        segments=len(episode.transcript.segments),
    )


_AS_IT_IS = ("success", "ending", "reading", "turns", "tokens_left", "segments", "metrics")


def state_to_json(now: State, told: Messages) -> Json:
    """The state; of the messages only what is new to a client that knows `told`."""
    kept, head = _common(told, now.messages)
    return {
        **{name: getattr(now, name) for name in _AS_IT_IS},
        "stop": list(now.stop),
        "messages": {"kept": kept, "head": head, "new": _behind(now.messages[kept:], head)},
        "usage": {name: [usage.used, usage.left, isinstance(usage, Elapsed)] for name, usage in now.usage.items()},
    }


def state_from_json(data: Json, told: Messages) -> State:
    """The inverse of `state_to_json`.

    Raises:
        KeyError, TypeError, ValueError, IndexError: it is no state.
    """
    change = data["messages"]
    kept, head, new = change["kept"], change["head"], [dict(message) for message in change["new"]]
    if head:
        new[0]["content"] = told[kept]["content"][:head] + new[0]["content"]
    return State(
        **{name: data[name] for name in _AS_IT_IS},
        stop=tuple(data["stop"]),
        messages=[dict(message) for message in told[:kept]] + new,
        usage={name: (Elapsed if clock else Usage)(used, left) for name, (used, left, clock) in data["usage"].items()},
    )


def _common(told: Messages, now: Messages) -> tuple[int, int]:
    """How many messages are as they were, and how much of the next one is."""
    kept = 0
    while kept < min(len(told), len(now)) and told[kept] == now[kept]:
        kept += 1
    if kept == min(len(told), len(now)) or {**told[kept], "content": ""} != {**now[kept], "content": ""}:
        return kept, 0
    old, new = told[kept]["content"], now[kept]["content"]
    return kept, len(old) if new.startswith(old) else 0


def _behind(messages: Sequence[Mapping[str, str]], head: int) -> Messages:
    return [
        {**message, "content": message["content"][head:]} if number == 0 and head else dict(message)
        for number, message in enumerate(messages)
    ]
