"""Questions over the database of the fictional world, each with a gold query: see `toolenvs.world.sql`."""

from collections.abc import Callable

from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import problem_of
from toolenvs.world.sql import asker

MAX_PASSAGES = 20_000
_LEVELS = 3


def make(
    *, passages: int = 1_000, world: int = 0, min_level: int = 1, max_level: int = 3
) -> Callable[[Draws], Problem]:
    """The generator. A task's gold is a query over the database `extra["database"]`, "world:PASSAGES:SEED".

    Args:
        passages: size of the world, at most 20,000.
        world: its seed.
        min_level: 1 for questions over one table, 2 for two, 3 for three tables or one table twice.
        max_level: of the hardest questions.

    Raises:
        TaskError: an option is out of range, or the database cannot be written.
    """
    require_whole_number(passages, "world_sql: passages", 100, MAX_PASSAGES)
    require_whole_number(world, "world_sql: world", 0, 10**18 - 2)
    require_whole_number(min_level, "world_sql: min_level", 1, _LEVELS)
    require_whole_number(max_level, "world_sql: max_level", min_level, _LEVELS)
    asked = asker(passages, world)
    database = f"world:{passages}:{world}"
    return lambda draws: problem_of(asked.draw(draws, levels=(min_level, max_level)), database)
