"""Schema linking: how many of the tables and columns that the gold query reads the answer reads as well.

Paid once, at the end, from 0 to 1, whether or not the answer is right: something to climb for a policy that cannot yet
write whole queries. Recall alone can be had by naming every column that there is; "f1", which takes off for what is
read besides, is the default. A column that only a `*` stands for counts as not read, unless the gold has the `*` too.
Needs the extra `sql`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolenvs import databases
from toolenvs.databases.linking import Links, linking, links
from toolenvs.databases.parsing import require
from toolenvs.databases.sources import source_of
from toolenvs.errors import JudgeError
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.ran import ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "schema_linking"; the judge is "sql"."""

    measure: Literal["recall", "f1"] = "f1"
    columns: float = 0.5
    """Share of the columns in the reward; the rest is for the tables."""
    database: str = ""
    """As in `[tools.sql]`."""
    databases: str = ""
    """As in `[tools.sql]`."""

    def __post_init__(self) -> None:
        if not 0 <= self.columns <= 1:
            raise ValueError(f"columns is {self.columns}; it is a share, from 0 to 1")


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        require("the reward's term schema_linking")
        self._options = options
        self._golds: dict[tuple[Path, str], Links] = {}

    async def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            JudgeError: the gold cannot be parsed.
            PageError: the judge is another one.
            DatabaseError: the database failed.
            TaskError: the task names no database.
        """
        verdict = ran(moment, "schema_linking")
        if verdict is None or verdict.extracted is None:
            return 0.0
        options, task = self._options, moment.task
        path = source_of(task, folder=options.databases, default=options.database)
        schema = await databases.shared(f"sqlite:///{path.absolute()}").aschema(samples=0)
        gold = self._golds.get((path, task.gold)) or links(task.gold, schema)
        if gold is None:
            raise JudgeError(f"task {task.id!r}: its gold cannot be parsed; leave the term 'schema_linking' out for it")
        self._golds[path, task.gold] = gold  # golds come again with every epoch
        said = links(verdict.extracted, schema)
        if said is None:
            return 0.0
        tables, columns = linking(gold, said, options.measure)
        return (1 - options.columns) * tables + options.columns * columns
