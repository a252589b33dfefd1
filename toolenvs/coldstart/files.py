"""Rows on disk: one line of JSON each."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from toolenvs.coldstart.row import ColdStartRow
from toolenvs.errors import ConfigError, TranscriptError


def write_rows(path: str | Path, rows: Iterable[ColdStartRow]) -> None:
    """Write rows to a file, whole or not at all; equal rows give equal files."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row.to_json(), ensure_ascii=True) + "\n")
    part.replace(path)


def read_rows(path: str | Path) -> Iterator[ColdStartRow]:
    """The rows of a file, in order.

    Raises:
        ConfigError: there is no such file, or a line in it is no row; the message names file and line.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"there are no cold-start rows at {path}; write them with write_rows")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield ColdStartRow.from_json(json.loads(line))
            except (ValueError, KeyError, TypeError, TranscriptError) as error:
                raise ConfigError(f"{path.name}, line {number}: not a cold-start row: {error!r}") from error
