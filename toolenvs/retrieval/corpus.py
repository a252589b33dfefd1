"""Corpora as streams of passages, from the file formats in use.

- Search-R1's JSON lines: {"id", "contents"}, where `contents` begins with the title in double quotes on its own line;
- BEIR's corpus.jsonl: {"_id", "title", "text"}, or the folder that it stands in;
- FlashRAG's parquet files: columns `id` and `contents`, or `title` and `text`.

A .gz file is decompressed on the way. Numbers are taken as ids, a title may be missing, and every error says which row.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from toolenvs.errors import ConfigError, MissingExtraError

_PARQUET_BATCH_ROWS = 4096
_IN_A_FOLDER = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.parquet")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a corpus, which is what a search finds."""

    id: str
    """Unique in its corpus."""
    title: str
    """ "" where there is none."""
    text: str

    @property
    def contents(self) -> str:
        """Title and text as Search-R1 stores them."""
        return f'"{self.title}"\n{self.text}' if self.title else self.text


class Progress(Protocol):
    """Is told how much of the corpus file has been read: bytes, or rows of Parquet."""

    def __call__(self, done: int, total: int) -> None:
        """Called now and then."""


def read_corpus(path: Path, progress: Progress | None = None) -> Iterator[Passage]:
    """The passages of a corpus file, or of the one in a folder of BEIR, one at a time.

    Raises:
        ConfigError: there is no such file, it is cut short, its suffix is not known, or a row cannot be used; says
            which and why.
    """
    if path.is_dir():
        inside = next((path / name for name in _IN_A_FOLDER if (path / name).is_file()), None)
        if inside is None:
            raise ConfigError(f"{path} is a folder without {', '.join(_IN_A_FOLDER)}: give the path of the corpus file")
        path = inside
    if not path.is_file():
        raise ConfigError(f"there is no corpus file at {path}")
    kind = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if kind in {".jsonl", ".json", ".ndjson"}:
        rows = _json_lines(path, progress)
    elif kind == ".parquet":
        rows = _parquet(path, progress)
    else:
        raise ConfigError(f"{path} is neither .jsonl (or .jsonl.gz) nor .parquet: convert it, one passage a row")
    for where, row in rows:
        yield parse_passage(row, f"{path}, row {where}")


def _json_lines(path: Path, progress: Progress | None) -> Iterator[tuple[int, Any]]:
    total = path.stat().st_size
    with path.open("rb") as raw:
        lines: IO[bytes] = gzip.open(raw) if path.suffix == ".gz" else raw  # type: ignore[assignment]  # noqa: SIM115
        for number, line in enumerate(_whole_lines(lines, path), start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
            if not line or line.isspace():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                cut = "" if line.endswith(b"\n") else ": the file ends within this line, and may be cut short"
                raise ConfigError(f"{path}, row {number}: no JSON ({error}){cut}; mend or remove the line") from error
            yield number, row
            if progress is not None and number % 1000 == 0:
                progress(raw.tell(), total)
    if progress is not None:
        progress(total, total)


def _whole_lines(lines: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file, packed or not."""
    number = 0
    try:
        for line in lines:
            number += 1
            yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigError(f"{path} cannot be unpacked after row {number} ({error}): fetch it again") from error


def _parquet(path: Path, progress: Progress | None) -> Iterator[tuple[int, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "data", f"reading {path}") from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            total = file.metadata.num_rows
            for batch in file.iter_batches(_PARQUET_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
                if progress is not None:
                    progress(number, total)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as Parquet after row {number} ({error}): fetch it again") from error


def parse_passage(row: Any, where: str) -> Passage:
    """The passage in one row of any of the formats.

    Raises:
        ConfigError: the row has no id or no text; `where` says which it is.
    """
    if not isinstance(row, Mapping):
        raise ConfigError(f"{where} is no object with the keys id and contents, or _id, title and text")
    key = row.get("_id") if row.get("id") is None else row["id"]
    if isinstance(key, float) and key.is_integer():
        key = int(key)  # a column of numbers with gaps, as pandas writes it
    if not isinstance(key, str | int) or isinstance(key, bool) or key == "":
        raise ConfigError(f"{where} has no id: give it a key 'id' or '_id' that is a string")
    title, text, contents = row.get("title") or "", row.get("text"), row.get("contents")
    if text is None and isinstance(contents, str):
        title, text = (str(title), contents) if title else _split(contents)
    if not isinstance(text, str) or not isinstance(title, str):
        raise ConfigError(f"{where} (id {key!r}) has no text: give it a key 'contents', or 'text' and 'title'")
    return Passage(_whole(str(key)), _whole(title), _whole(text))


def _split(contents: str) -> tuple[str, str]:
    """A title in double quotes on the first line, and the rest."""
    first, newline, rest = contents.partition("\n")
    if newline and len(first) > 1 and first[0] == first[-1] == '"':
        return first[1:-1], rest
    return "", contents


def _whole(text: str) -> str:
    """Halves of surrogate pairs, which JSON can hold and UTF-8 cannot, become one character or U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
