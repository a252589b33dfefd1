"""Search-R1 and verl's port of it: gold `{target: [...]}`, ability `fact-reasoning`, raw columns often kept."""

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_messages,
    as_text,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
    verl_id,
)
from toolenvs.tasks.task import Task

_MARK = "Question:"


def matches(row: Row) -> bool:
    """Whether the row is of that ability, or from a source that the port has renamed."""
    return row.get("ability") == "fact-reasoning" or str(row.get("data_source")).startswith("searchR1_")


def to_task(row: Row, index: int) -> Task:
    """Read one row; the question is the raw column, else what follows the last `Question:` of the prompt.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    raw_question = row.get("question")
    rendered = is_rendered(messages)
    prompt = user_text(messages, "prompt")
    if raw_question is not None:
        question = as_text(raw_question, "question").strip()
    else:
        # Behind the question of a rendered prompt stands markup: such a prompt is taken whole.
        question = prompt if rendered else prompt.rpartition(_MARK)[2].strip()
    return Task(
        id=verl_id(row, index),
        question=question,
        golds=as_golds(rule(row).get("ground_truth"), "reward_model.ground_truth"),
        messages=messages,
        rendered=rendered,
        source=source_of(row),
        extra=unclaimed(row, "prompt", "data_source", "question"),
    )
