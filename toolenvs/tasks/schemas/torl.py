"""ToRL: system and user messages, a symbolic gold, `extra_info.id`; `reward_model.style` is spelt `stype`."""

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_messages,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
    verl_id,
)
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row has the misspelling, or the ability `math` in lower case with a system message."""
    reward_model, prompt = row.get("reward_model"), row.get("prompt")
    if not isinstance(reward_model, dict) or not isinstance(prompt, list) or not prompt:
        return False
    opens_with_system = isinstance(prompt[0], dict) and prompt[0].get("role") == "system"
    return reward_model.get("stype") is not None or (row.get("ability") == "math" and opens_with_system)


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    return Task(
        id=verl_id(row, index),
        question=user_text(messages, "prompt"),
        golds=as_golds(rule(row).get("ground_truth"), "reward_model.ground_truth"),
        messages=messages,
        rendered=is_rendered(messages),
        source=source_of(row),
        extra=unclaimed(row, "prompt", "data_source"),
    )
