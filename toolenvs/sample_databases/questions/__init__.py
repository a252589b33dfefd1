"""Questions over the databases with a name, one module each: how it is spoken of, and the templates of each level.

A module gives `ENTRY`, and the generator `NAME_sql` of `toolenvs.tasks.generators` draws from it.
"""

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

from toolenvs import plugins, sample_databases
from toolenvs.sample_databases.questions.base import Entry, FileBook
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Asker, problem_of

__all__ = ["Entry", "FileBook", "asker", "find", "generator"]


def find(name: str) -> Entry | None:
    """How the database called `name` is asked about; None where it is not."""
    if name not in plugins.names(__name__, "ENTRY"):
        return None
    entry: Entry = importlib.import_module(f"{__name__}.{name}").ENTRY
    return entry


@functools.lru_cache(maxsize=16)
def _asker(name: str, path: Path, shifted: Path) -> Asker:
    entry = find(name)
    assert entry is not None, name
    return Asker(FileBook(entry, path), entry.levels, path, shifted, zeros=False)


def asker(name: str) -> Asker:
    """Draws questions over the database called `name`.

    Raises:
        MissingExtraError: the package that holds the data is not installed.
        TaskError: the data are not what they should be, or the cache cannot be written.
    """
    path, shifted = sample_databases.named_file(name), sample_databases.shifted_file(name)
    assert path is not None, name
    assert shifted is not None, name
    return _asker(name, path, shifted)


def generator(name: str, min_level: int, max_level: int) -> Callable[[Draws], Problem]:
    """What a generator's `make` returns.

    Raises:
        TaskError: a level is out of range, or the database cannot be made.
        MissingExtraError: the package that holds the data is not installed.
    """
    entry = find(name)
    assert entry is not None, name
    require_whole_number(min_level, f"{name}_sql: min_level", 1, len(entry.levels))
    require_whole_number(max_level, f"{name}_sql: max_level", min_level, len(entry.levels))
    asked = asker(name)
    return lambda draws: problem_of(asked.draw(draws, levels=(min_level, max_level)), name, entry.evidence)
