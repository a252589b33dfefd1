"""Questions over Chinook, the shop of digital music, each with a gold query: see `toolenvs.sample_databases`."""

from collections.abc import Callable

from toolenvs.sample_databases.questions import generator
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import Draws


def make(*, min_level: int = 1, max_level: int = 3) -> Callable[[Draws], Problem]:
    """The generator. A task's gold is a query over the database `extra["database"]`, "chinook".

    Args:
        min_level: 1 for questions over one table, 2 for two, 3 for three tables or one table twice.
        max_level: of the hardest questions.

    Raises:
        TaskError: a level is out of range, or the database cannot be made.
        MissingExtraError: the package that holds the data is not installed.
    """
    return generator("chinook", min_level, max_level)
