"""Folders of BIRD, Spider and SynSQL as rows: the questions, each with the file of the database that it is about.

bird/     dev.json  dev_databases/ID/ID.sqlite          load("bird", split="dev")
spider/   dev.json  train_spider.json  train_others.json  tables.json  database/ID/ID.sqlite
synsql/   data.json  databases/ID/ID.sqlite             load("synsql")

A database may also lie flat, as dev_databases/ID.sqlite, and questions in data.jsonl.gz.
Where archives of splits were unpacked side by side, each is such a folder: bird/train/ and bird/dev_20240627/.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.files import LocatedRow, Unreadable, read_file
from toolenvs.tasks.schemas._sql import database_id

_SPELLINGS = {"validation": "dev", "dev": "validation"}
_FILES = {"train": ("train", "train_spider", "train_others", "data")}
"""The files of a split, where they are not named after it."""
_NO_QUESTIONS = ("tables", "dev_tables", "train_tables", "test_tables")
_ENDINGS = (".sqlite", ".db", ".sqlite3")


def sql_folder(folder: Path, split: str) -> Path | None:
    """The folder with databases and questions beside them: this one, or the one in it that is of the split."""
    if _is_sql(folder):
        return folder
    names = (split, _SPELLINGS.get(split, split))
    of_split = [
        child
        for child in sorted(folder.iterdir())
        if child.name.lower().startswith(names) and child.is_dir() and _is_sql(child)
    ]
    return of_split[0] if len(of_split) == 1 else None


def _is_sql(folder: Path) -> bool:
    return bool(_databases(folder)) and bool(_questions(folder))


def read_sql(folder: Path, split: str) -> Iterator[LocatedRow]:
    """The rows of a split, each with `database`, the file of its database.

    Args:
        folder: of one set, as it is when unpacked.
        split: the name of a JSON file; "validation" and "dev" stand for one another, and "train" is all of
            `train.json`, `train_spider.json`, `train_others.json` and `data.json`.

    Raises:
        TaskError: there is no such split, or a file cannot be read.
    """
    questions = _questions(folder)
    for name in (split, _SPELLINGS.get(split, split)):
        files = [questions[stem] for stem in _FILES.get(name, (name,)) if stem in questions]
        if files:
            break
    else:
        raise TaskError(f"{folder}: no questions for split {split!r}; {did_you_mean(split, questions)}")
    roots = _databases(folder)
    own = [root for root in roots if root.name.startswith(f"{name}_")]  # of this split, where each has its own
    for where, row in (located for file in files for located in read_file(file)):
        if isinstance(row, Unreadable) or not isinstance(row, Mapping):
            yield where, row
            continue
        try:
            identity = database_id(row)
        except TaskError as error:
            yield where, Unreadable(str(error))
            continue
        path = _find(own or roots, identity)
        if path is None:
            there = did_you_mean(identity, [child.name for root in own or roots for child in root.iterdir()])
            named = " or ".join(f"{root / identity / identity}.sqlite" for root in own or roots)
            yield where, Unreadable(f"its database {named} is not there ({there}); unpack all of the set")
        else:
            yield where, {**row, "database": str(path)}


def _questions(folder: Path) -> dict[str, Path]:
    """Files with questions, by their name without its ending."""
    return {
        stem: path
        for path in sorted(folder.iterdir())
        for stem, _, ending in [path.name.rpartition(".json")]
        if ending in ("", "l", "l.gz") and stem and stem not in _NO_QUESTIONS and path.is_file()
    }


def _databases(folder: Path) -> list[Path]:
    """The folders with a folder for each database, or its file; an archive may have been unpacked into one of its own
    name."""
    found = [path for path in sorted(folder.iterdir()) if path.is_dir() and holds_databases(path)]
    return [path / path.name if (path / path.name).is_dir() else path for path in found]


def holds_databases(folder: Path) -> bool:
    """Whether a folder is named as one that has many databases."""
    return folder.name.lower().removesuffix("s").endswith("database")


def places(root: Path, identity: str) -> Iterator[Path]:
    """Where a database may be below a folder of many: in one of its own, flat, or in one of the archive's name."""
    for place in (root / identity, root, root / root.name / identity):
        for ending in _ENDINGS:
            yield place / f"{identity}{ending}"


def _find(roots: list[Path], identity: str) -> Path | None:
    return next((path for root in roots for path in places(root, identity) if path.is_file()), None)
