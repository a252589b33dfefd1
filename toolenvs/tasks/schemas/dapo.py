"""DAPO-Math-17k and the ReTool recipe's sets made of it: `data_source` math_dapo, gold text, uuid `extra_info.index`.

The published files repeat their rows (AIME 2024 32 times), so repeats are dropped. The prompt wraps the problem in an
opening and a closing paragraph on the `Answer:` line; the question is the problem alone.
"""

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_id,
    as_mapping,
    as_messages,
    as_text,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
)
from toolenvs.tasks.task import Task

REPEATS = True

_MARK = "Answer:"


def matches(row: Row) -> bool:
    """Whether the row says that math_dapo judges it."""
    style = rule(row).get("style")
    return str(row.get("data_source")).startswith("math_dapo") or style == "rule-lighteval/MATH_v2"


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    extra_info = as_mapping(row, "extra_info")
    raw_problem = extra_info.get("raw_problem")
    return Task(
        id=as_id(extra_info.get("index"), index),
        question=_unwrap(user_text(messages, "prompt"))
        if raw_problem is None
        else as_text(raw_problem, "extra_info.raw_problem"),
        golds=as_golds(rule(row).get("ground_truth"), "reward_model.ground_truth"),
        messages=messages,
        rendered=is_rendered(messages),
        source=source_of(row),
        extra=unclaimed(row, "prompt", "data_source"),
    )


def _unwrap(prompt: str) -> str:
    """The paragraphs between the first and the last, where both are about the `Answer:` line."""
    first, *middle, last = paragraphs if len(paragraphs := prompt.split("\n\n")) > 2 else ["", prompt, ""]
    return "\n\n".join(middle) if _MARK in first and _MARK in last else prompt
