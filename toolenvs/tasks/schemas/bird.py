"""BIRD: `question`, `evidence`, gold `SQL`, `db_id`; the development sets have `question_id` and `difficulty` as well.

The files are `dev.json`, `train.json` and Mini-Dev's; see `toolenvs.tasks.sql_folders` for the folders around them.
"""

from toolenvs.tasks.schemas._columns import Row
from toolenvs.tasks.schemas._sql import sql_task
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row has a database and a query under BIRD's name for it."""
    return row.get("db_id") is not None and row.get("SQL") is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row. `extra` has `db_id`, `evidence` and `difficulty`.

    Raises:
        TaskError: the question, the query or the database's id is missing.
    """
    return sql_task(row, index, source="bird", sql="SQL", hint="evidence")
