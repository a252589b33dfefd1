"""BEIR folders as rows: `queries.jsonl`, and what is relevant to each query in `qrels/SPLIT.tsv`.

The corpus beside them is what a retriever serves: `toolenvs index FOLDER OUT`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.files import LocatedRow, Unreadable, read_file

_QUERIES = ("queries.jsonl", "queries.jsonl.gz")
_SPELLINGS = {"validation": "dev", "dev": "validation"}
_GRADE = re.compile(r"-?\d{1,9}")


def is_beir(folder: Path) -> bool:
    """Whether a folder holds queries and judgements."""
    return _queries(folder) is not None and (folder / "qrels").is_dir()


def read_beir(folder: Path, split: str) -> Iterator[LocatedRow]:
    """A row for each query that `split` judges, in the order of the queries: theirs, with `qrels`, ids to grades.

    Args:
        folder: of one BEIR set.
        split: the name of a file in `qrels`; "validation" and "dev" stand for one another.

    Raises:
        TaskError: there is no such split, a line cannot be read, a passage has two grades, or a query is missing.
    """
    names = [split, _SPELLINGS.get(split, split)]
    there = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}  # and no path to elsewhere
    path = next((there[name] for name in names if name in there), None)
    if path is None:
        raise TaskError(f"{folder / 'qrels'}: no file for split {split!r}; {did_you_mean(split, there)}")
    grades = _grades(path)
    queries = _queries(folder)
    assert queries is not None
    for where, row in read_file(queries):
        if isinstance(row, Unreadable):
            yield where, row
        elif not isinstance(row, Mapping) or row.get("_id") is None:
            yield where, Unreadable("no query: each line must be an object with '_id' and 'text'")
        elif (judged := grades.pop(str(row["_id"]), None)) is not None:
            yield where, {**row, "qrels": judged}
    if grades:
        missing = next(iter(grades))
        raise TaskError(f"{queries}: no query {missing!r}, which {path} judges ({len(grades)} in all); add it")


def _queries(folder: Path) -> Path | None:
    return next((path for name in _QUERIES if (path := folder / name).is_file()), None)


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Query -> passage -> grade."""
    found: dict[str, dict[str, int]] = {}
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except ValueError as error:
        raise TaskError(f"{path}: no text in UTF-8 ({error})") from error
    for number, line in enumerate(lines, start=1):
        cells = line.rstrip("\r").split("\t")
        if cells == [""] or (number == 1 and cells[0] in ("query-id", "query_id")):
            continue
        if len(cells) != 3 or not cells[0] or not cells[1] or not _GRADE.fullmatch(cells[2].strip()):
            raise TaskError(
                f"{path}: row {number}: {line[:80]!r} is no judgement; write query, passage and a whole grade, "
                "with tabs between them"
            )
        query, passage, grade = cells[0], cells[1], int(cells[2])
        if found.setdefault(query, {}).setdefault(passage, grade) != grade:
            raise TaskError(
                f"{path}: row {number}: passage {passage!r} has the grades {found[query][passage]} and {grade} "
                f"for query {query!r}; keep one"
            )
    return found
