"""Any row with a column for the question and one for the answer, under one of the usual names.

AIME 2024 (`Problem`, `Answer`), AIME 2025 (`problem`, `answer`), MATH-500, FlashRAG (`question`, `golden_answers`) and
verl rows of other sources (`prompt`, `reward_model.ground_truth`) are such rows. Case does not matter. Where the only
answer is a worked `solution`, the gold is what its last `\\boxed{}` holds, else the whole.
"""

from toolenvs.errors import TaskError
from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_id,
    as_mapping,
    as_messages,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
)
from toolenvs.tasks.task import Task

_QUESTIONS = ("question", "problem", "prompt", "query", "instruction")
_ANSWERS = (
    "answer",
    "final_answer",
    "golden_answers",
    "possible_answers",
    "ground_truth",
    "answers",
    "gold",
    "golds",
    "target",
)
_IDS = ("id", "unique_id", "uid", "task_id")
_BOX = "\\boxed{"


def _column(row: Row, names: tuple[str, ...]) -> str | None:
    """The first of `names` that the row has, as the row spells it."""
    spelling = {column.casefold(): column for column, value in row.items() if value is not None}
    return next((spelling[name] for name in names if name in spelling), None)


def matches(row: Row) -> bool:
    """Whether a question can be found."""
    return _column(row, _QUESTIONS) is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: no question or no gold can be found.
    """
    question_column = _column(row, _QUESTIONS)
    if question_column is None:
        raise TaskError(f"no question: none of the keys {', '.join(_QUESTIONS)} is there (found: {', '.join(row)})")
    messages = as_messages(row[question_column], question_column)
    rendered = is_rendered(messages)
    id_column = _column(row, _IDS)
    answer_column, golds = _golds(row)
    extra_info = as_mapping(row, "extra_info")
    claimed = [column for column in (question_column, id_column, answer_column, "data_source") if column is not None]
    return Task(
        id=as_id(extra_info.get("index") if id_column is None else row[id_column], index),
        question=user_text(messages, question_column),
        golds=golds,
        messages=messages if rendered or not isinstance(row[question_column], str) else (),
        rendered=rendered,
        source=source_of(row),
        extra=unclaimed(row, *claimed),
    )


def _golds(row: Row) -> tuple[str | None, tuple[str, ...]]:
    """The column that the golds fill, if any, and the golds."""
    column = _column(row, _ANSWERS)
    if column is not None:
        return column, as_golds(row[column], column)
    ground_truth = rule(row).get("ground_truth")
    if ground_truth is not None:
        return None, as_golds(ground_truth, "reward_model.ground_truth")
    column = _column(row, ("solution",))
    if column is None:
        raise TaskError(
            f"no answer: none of the keys {', '.join(_ANSWERS)}, solution, reward_model.ground_truth is there"
            f" (found: {', '.join(row)}); rename the answer's column"
        )
    boxed = _last_boxed(row[column]) if isinstance(row[column], str) else None
    # A worked solution says more than its box, so it stays in `extra`.
    return (column, as_golds(row[column], column)) if boxed is None else (None, (boxed,))


def _last_boxed(solution: str) -> str | None:
    """What the last `\\boxed{...}` holds, braces balanced."""
    start = solution.rfind(_BOX)
    if start < 0:
        return None
    depth = 1
    for position in range(start + len(_BOX), len(solution)):
        depth += {"{": 1, "}": -1}.get(solution[position], 0)
        if depth == 0:
            return solution[start + len(_BOX) : position].strip() or None
    return None
