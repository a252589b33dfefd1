"""PaperSearchQA: factoid questions about biomedical abstracts, the gold a list of synonyms beside one `answer`.

The columns are `question`, `answer`, `golden_answers`, `pmid` of the abstract, `cat_num` and `cat` of the question, and
`is_paraphrased` with `question_original` where half of the questions were worded anew.
"""

from toolenvs.tasks.schemas._columns import Row, as_golds, as_id, as_text, unclaimed
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row names an abstract and has synonyms."""
    return row.get("pmid") is not None and row.get("golden_answers") is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row. The golds are the synonyms, as the released evaluation has it; three questions share a `pmid`.

    Raises:
        TaskError: the question or the synonyms are missing.
    """
    return Task(
        id=as_id(row.get("id"), index),
        question=as_text(row.get("question"), "question").strip(),
        golds=as_golds(row["golden_answers"], "golden_answers"),
        source="papersearchqa",
        extra=unclaimed(row, "id", "question", "golden_answers"),
    )
