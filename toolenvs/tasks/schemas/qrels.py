"""Retrieval sets in the manner of BEIR: a query, and the passages that are relevant to it, with or without grades.

The query is in `query`, `question` or `text`, its id in `_id`, `query_id`, `qid` or `id`. The relevant passages are in
`qrels`, `relevant` or `relevant_ids`: ids, a mapping from ids to grades, or BEIR's rows of `corpus-id` and `score`.
"""

from collections.abc import Mapping

from toolenvs.errors import TaskError
from toolenvs.tasks.schemas._columns import Row, as_id, as_text, source_of, unclaimed
from toolenvs.tasks.task import Task

_QUERIES = ("query", "question", "text")
_IDS = ("_id", "query_id", "qid", "id")
_RELEVANT = ("qrels", "relevant", "relevant_ids")
_PASSAGES = ("corpus-id", "corpus_id", "doc_id", "pmid", "id")
_GRADES = ("score", "grade", "relevance")


def _column(row: Row, names: tuple[str, ...]) -> str | None:
    """The first of `names` that the row has."""
    return next((name for name in names if row.get(name) is not None), None)


def matches(row: Row) -> bool:
    """Whether the row has a query and says what is relevant."""
    return _column(row, _RELEVANT) is not None and _column(row, _QUERIES) is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row. The golds are the ids of a grade above 0, the best first; `extra["relevant"]` has all grades.

    Raises:
        TaskError: the query is missing, nothing is relevant, or a grade is no whole number.
    """
    query, own, relevant = _column(row, _QUERIES), _column(row, _IDS), _column(row, _RELEVANT)
    if query is None or relevant is None:
        raise TaskError(f"a query ({', '.join(_QUERIES)}) and its passages ({', '.join(_RELEVANT)}) are needed")
    grades = _grades(row[relevant], relevant)
    golds = sorted((passage_id for passage_id, grade in grades.items() if grade > 0), key=lambda key: -grades[key])
    if not golds:
        raise TaskError(f"key {relevant!r} holds no passage of a grade above 0; fill it in or remove the row")
    claimed = [column for column in (query, own, relevant, "data_source") if column is not None]
    return Task(
        id=as_id(None if own is None else row[own], index),
        question=as_text(row[query], query).strip(),
        golds=tuple(golds),
        source=source_of(row),
        extra={**unclaimed(row, *claimed), "relevant": grades},
    )


def _grades(value: object, key: str) -> dict[str, int]:
    if isinstance(value, Mapping):
        return {str(passage_id): _grade(grade, key) for passage_id, grade in value.items() if grade is not None}
    if not isinstance(value, list):
        raise TaskError(f"key {key!r} holds {type(value).__name__}; it must be ids, or a mapping from ids to grades")
    grades: dict[str, int] = {}
    for item in value:
        if isinstance(item, Mapping):
            passage, graded = _column(item, _PASSAGES), _column(item, _GRADES)
            if passage is None:
                raise TaskError(f"key {key!r}: a row lacks the passage's id ({', '.join(_PASSAGES)})")
            grades[as_id(item[passage], 0)] = 1 if graded is None else _grade(item[graded], key)
        elif isinstance(item, str | int) and not isinstance(item, bool) and str(item).strip():
            grades[str(item)] = 1
        else:
            raise TaskError(f"key {key!r} holds {item!r:.80}; ids are text or whole numbers")
    return grades


def _grade(value: object, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise TaskError(f"key {key!r}: the grade {value!r} is no whole number")
    return int(value)
