"""InterCode-SQL: `query` is the question, `gold` the gold query, `db` the database; made from Spider and BIRD.

The files are `ic_spider_dev.json`, with `hardness` and `db_tables`, and `ic_bird.json`, with BIRD's own columns beside;
see `toolenvs.tasks.sql_folders` for the folders around them.
"""

from toolenvs.tasks.schemas._columns import Row
from toolenvs.tasks.schemas._sql import sql_task
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row has a database, a question and a query under InterCode's names for them."""
    named = all(isinstance(row.get(key), str) for key in ("db", "query", "gold"))
    return named and row.get("db_id") is None


def to_task(row: Row, index: int) -> Task:
    """Read one row. `extra` has `db_id` and `evidence`, and `hardness` or `difficulty`.

    Raises:
        TaskError: the question, the query or the database's name is missing.
    """
    return sql_task(row, index, source="intercode", sql="gold", question="query", hint="evidence", drop=("SQL", "db"))
