"""Spider: `question`, gold `query` and `db_id`, beside their tokens and the query's parse, which say nothing more.

The files are `dev.json`, `train_spider.json`, `train_others.json` and `test.json`; see `toolenvs.tasks.sql_folders`.
"""

from toolenvs.tasks.schemas._columns import Row
from toolenvs.tasks.schemas._sql import sql_task
from toolenvs.tasks.task import Task

_SAID_AGAIN = ("query_toks", "query_toks_no_value", "question_toks", "sql")


def matches(row: Row) -> bool:
    """Whether the row has a database and a query under Spider's name for it."""
    return row.get("db_id") is not None and row.get("query") is not None and row.get("SQL") is None


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: the question, the query or the database's id is missing.
    """
    return sql_task(row, index, source="spider", sql="query", drop=_SAID_AGAIN)
