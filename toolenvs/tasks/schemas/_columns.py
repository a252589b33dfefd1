"""What the schemas share: reading columns, golds, prompts and ids out of one row."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolenvs.errors import TaskError

Row = Mapping[str, Any]
Messages = tuple[Mapping[str, str], ...]

_RENDERED = re.compile(r"\s*<\|im_start\|>(?:system|user)\n")


def as_text(value: object, key: str) -> str:
    """`value` where it is a string with something in it.

    Raises:
        TaskError: it is not.
    """
    if value is None:
        raise TaskError(f"key {key!r} is missing; add it, or give the file's schema by name")
    if not isinstance(value, str):
        raise TaskError(f"key {key!r} holds {type(value).__name__}; it must be text")
    if not value.strip():
        raise TaskError(f"key {key!r} is empty; fill it in or remove the row")
    return value


def as_mapping(row: Row, key: str) -> Row:
    """The struct column `key`; empty where the row lacks it."""
    value = row.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TaskError(f"key {key!r} holds {type(value).__name__}; it must be an object")
    return value


def as_golds(value: object, key: str) -> tuple[str, ...]:
    """Accepted answers out of text, a number, a list of these, or `{target: ...}`; repeats are dropped.

    Text that is a JSON list of texts, as `'["Paris", "paris"]'`, is that list; `"[0, 1]"` is an interval, and stays.

    Raises:
        TaskError: there is none, or one is neither text nor a finite number.
    """
    golds = tuple(dict.fromkeys(_flatten(value, key)))
    if not golds:
        raise TaskError(f"key {key!r} holds no gold answer; fill it in or remove the row")
    return golds


def _flatten(value: object, key: str) -> Iterable[str]:
    if isinstance(value, Mapping):
        if "target" not in value:
            raise TaskError(f"key {key!r} is an object without 'target' (it has {', '.join(map(repr, value))})")
        yield from _flatten(value["target"], f"{key}.target")
    elif isinstance(value, list):
        for item in value:
            yield from _flatten(item, key)
    elif isinstance(value, bool):
        raise TaskError(f"key {key!r} is a boolean; write the answer as text, such as 'yes'")
    elif isinstance(value, int):
        yield str(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise TaskError(f"key {key!r} is {value}; it must be text or a finite number")
        yield str(int(value)) if value.is_integer() else repr(value)
    else:
        text = as_text(value, key).strip()
        texts = _json_texts(text)
        yield from [text] if texts is None else (as_text(item, key).strip() for item in texts)


def _json_texts(text: str) -> list[str] | None:
    """The list that `text` is in JSON, where it holds texts and nothing else."""
    if not text.startswith("["):
        return None
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) and items and all(isinstance(item, str) for item in items) else None


def as_messages(value: object, key: str) -> Messages:
    """Chat messages, each reduced to `role` and `content`; bare text is one user message.

    Raises:
        TaskError: it is neither text nor a list of messages.
    """
    if isinstance(value, str):
        return ({"role": "user", "content": as_text(value, key)},)
    if not isinstance(value, list) or not value:
        raise TaskError(f"key {key!r} must hold text or a list of messages with 'role' and 'content'")
    messages = []
    for position, message in enumerate(value):
        at = f"{key}[{position}]"
        if not isinstance(message, Mapping):
            raise TaskError(f"key {at!r} holds {type(message).__name__}; it must have 'role' and 'content'")
        content = message.get("content")
        messages.append(
            {
                "role": as_text(message.get("role"), f"{at}.role"),
                # A message that only calls tools has no content.
                "content": "" if content is None else content if isinstance(content, str) else _parts(content, at),
            }
        )
    return tuple(messages)


def _parts(content: object, at: str) -> str:
    """The text of content that is a list of `{type: text, text: ...}`."""
    if not isinstance(content, list) or not all(
        isinstance(p, Mapping) and isinstance(p.get("text"), str) for p in content
    ):
        raise TaskError(f"key {at + '.content'!r} must hold text")
    return "".join(part["text"] for part in content)


def is_rendered(messages: Messages) -> bool:
    """Whether the text begins as chat markup does, so that templating it again would nest it."""
    return any(_RENDERED.match(message["content"]) for message in messages)


def user_text(messages: Messages, key: str, *, last: bool = True) -> str:
    """The content of the last (or first) user message.

    Raises:
        TaskError: no user message has content.
    """
    said = [message["content"] for message in messages if message["role"] == "user" and message["content"].strip()]
    if not said:
        raise TaskError(f"key {key!r} has no user message with content")
    return said[-1 if last else 0]


def rule(row: Row) -> Row:
    """The column `reward_model` under one spelling: `stype` is read as `style`."""
    reward_model = dict(as_mapping(row, "reward_model"))
    misspelt = reward_model.pop("stype", None)
    if reward_model.get("style") is None and misspelt is not None:
        reward_model["style"] = misspelt
    return reward_model


def source_of(row: Row) -> str:
    """The column `data_source`; empty where the row lacks it."""
    value = row.get("data_source")
    return "" if value is None else as_text(value, "data_source")


def as_id(value: object, index: int) -> str:
    """An id of text or a number, as text; made from the row's position where there is none."""
    if value is None:
        return f"row-{index}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # an integer column with gaps comes back from pandas as floats
    return str(value)


def verl_id(row: Row, index: int) -> str:
    """`source/split/index`: the index alone is unique only within one source and split."""
    extra_info = as_mapping(row, "extra_info")
    own = next((extra_info[key] for key in ("index", "id") if extra_info.get(key) is not None), row.get("id"))
    return "/".join(part for part in (source_of(row), str(extra_info.get("split") or ""), as_id(own, index)) if part)


def unclaimed(row: Row, *claimed: str) -> dict[str, Any]:
    """The columns that the task does not hold already; what is left of `reward_model` comes without its gold."""
    extra = {key: value for key, value in row.items() if key not in claimed}
    if "reward_model" in extra:
        extra["reward_model"] = {key: value for key, value in rule(row).items() if key != "ground_truth"}
    return extra
