"""Where rows come from: JSON Lines, .gz too, JSON, Parquet, folders of these, and Hugging Face datasets; row by row."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolenvs.errors import MissingExtraError, TaskError

_BATCH_ROWS = 1024
_SAVED_DATASET_FILES = ("dataset_info.json", "dataset_dict.json")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands in the place of a row that could not be decoded."""

    reason: str


LocatedRow = tuple[str, object]
"""A row after the place it stands in, `train.jsonl: row 3`. Rows count from 1; in JSON Lines they are lines."""


def read_file(path: Path) -> Iterator[LocatedRow]:
    """The rows of one file, by its suffix, in capitals or not.

    Raises:
        TaskError: the suffix is unknown, or the file cannot be read as what it says.
        MissingExtraError: a Parquet file, and pyarrow is not installed.
    """
    reader = _READERS.get(_suffix(path))
    if reader is None:
        raise TaskError(f"{path}: cannot tell its format; name it {', '.join(_READERS)}")
    return locate(reader(path), str(path))


def locate(numbered: Iterable[tuple[int, object]], name: str) -> Iterator[LocatedRow]:
    """Rows with their place instead of their number."""
    return ((f"{name}: row {number}", row) for number, row in numbered)


def _read_jsonl(path: Path) -> Iterator[tuple[int, object]]:
    number = 0
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _decode(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise TaskError(f"{path}: cannot be unpacked after row {number} ({error}); fetch it again") from error


def _suffix(path: Path) -> str:
    """The suffix that tells the format; `.jsonl.gz` is one."""
    *before, last = ["", *(suffix.lower() for suffix in path.suffixes[-2:])]
    return before[-1] + last if last == ".gz" else last


def _decode(line: bytes) -> object:
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return Unreadable(f"not JSON ({error}); each line must be one object")


def _read_json(path: Path) -> Iterator[tuple[int, object]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path}: not JSON ({error}); if it has one object a line, name it .jsonl") from error
    if not isinstance(rows, list):
        raise TaskError(f"{path}: must hold one list of rows; if it has one object a line, name it .jsonl")
    yield from enumerate(rows, start=1)


def _read_parquet(path: Path) -> Iterator[tuple[int, object]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "data", f"reading {path.name}") from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (OSError, ValueError) as error:
        raise TaskError(f"{path}: not readable as Parquet after row {number} ({error})") from error


_READERS = {".jsonl": _read_jsonl, ".jsonl.gz": _read_jsonl, ".json": _read_json, ".parquet": _read_parquet}


def is_saved_dataset(folder: Path) -> bool:
    """Whether `datasets` wrote this folder with `save_to_disk`."""
    return any((folder / name).is_file() for name in _SAVED_DATASET_FILES)


def split_files(folder: Path, split: str) -> list[Path]:
    """The files of one split in a folder: `train.jsonl`, `train-00000-of-00002.parquet`, `train/any.parquet`.

    Raises:
        TaskError: there is none; the message lists the files that are there.
    """
    files = sorted(path for path in folder.rglob("*") if _suffix(path) in _READERS and path.is_file())
    names = {path: path.relative_to(folder) for path in files}
    chosen = [
        path
        for path, name in names.items()
        if split in name.parts[:-1]
        or name.stem == split
        or name.stem.startswith((f"{split}-", f"{split}_", f"{split}."))
    ]
    if not chosen:
        found = ", ".join(map(str, names.values())) or f"no file ends with {', '.join(_READERS)}"
        raise TaskError(f"{folder}: no file for split {split!r} ({found}); name one {split}.jsonl, or give its path")
    return chosen


def read_hf(name: str, split: str, config: str | None) -> Iterator[LocatedRow]:
    """The rows of a Hugging Face dataset: a folder that `save_to_disk` wrote, else a name for `load_dataset`.

    Raises:
        TaskError: `datasets` cannot find or read it, or it has no such split.
        MissingExtraError: `datasets` is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("datasets", "data", f"reading hf:{name}") from error
    try:
        if is_saved_dataset(Path(name)):
            data = datasets.load_from_disk(name)
            if isinstance(data, datasets.DatasetDict):
                if split not in data:
                    raise TaskError(f"{name}: no split {split!r}; it has {', '.join(data)}")
                data = data[split]
        else:
            data = datasets.load_dataset(name, config, split=split)
    except TaskError:
        raise
    except (OSError, ValueError) as error:
        raise TaskError(f"hf:{name}: cannot load split {split!r} ({error})") from error
    return locate(enumerate(data, start=1), f"hf:{name}")
