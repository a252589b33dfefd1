"""SynSQL-2.5M: `question`, gold `sql`, `db_id`, `external_knowledge`, and how hard and in which style it was written.

`cot`, the worked solution, stays in `extra`.
"""

from toolenvs.tasks.schemas._columns import Row
from toolenvs.tasks.schemas._sql import sql_task
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row has a database, a query as text, and one of the set's own columns."""
    own = row.get("question_style") is not None or row.get("sql_complexity") is not None
    return own and row.get("db_id") is not None and isinstance(row.get("sql"), str)


def to_task(row: Row, index: int) -> Task:
    """Read one row. `extra["evidence"]` is the external knowledge.

    Raises:
        TaskError: the question, the query or the database's id is missing.
    """
    return sql_task(row, index, source="synsql", sql="sql", hint="external_knowledge")
