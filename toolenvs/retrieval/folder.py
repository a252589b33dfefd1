"""The folder of an index: parts that are whole or not there, each with a manifest that says what it was made from.

    index/passages/     the texts                       index/bm25/, index/dense/, index/lucene/    one part a backend

A part is written beside its place and renamed into it when it is complete, so that a build that is interrupted leaves
what was there before. Arrays are memory-mapped: all processes that open a folder share one copy.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from toolenvs.errors import RetrievalError

FORMAT = 1
"""Raised when a change makes old folders unreadable."""
_MANIFEST = "manifest.json"


@contextlib.contextmanager
def building(folder: Path, part: str) -> Iterator[Path]:
    """A fresh folder to write `part` into, which takes its place in `folder` when the block ends without an error."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / part
    fresh, old = (folder / f".{part}.{os.getpid()}.{what}" for what in ("building", "replaced"))
    _tidy(folder, part)
    fresh.mkdir()
    try:
        yield fresh
        try:
            if place.exists():
                place.rename(old)
            fresh.rename(place)
        except BaseException:
            if old.exists() and not place.exists():
                old.rename(place)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _tidy(folder: Path, part: str) -> None:
    """Put away what builds left that were killed: a half part, or the part that was about to be replaced."""
    for left in folder.glob(f".{part}.*.*"):
        pid, what = left.name.split(".")[-2:]
        if int(pid) != os.getpid() and _runs(int(pid)):
            continue
        if what == "replaced" and not (folder / part).exists():
            left.rename(folder / part)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def seal(part: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, with the size of each file, and make all files durable."""
    files = {str(path.relative_to(part)): path.stat().st_size for path in sorted(part.rglob("*")) if path.is_file()}
    text = json.dumps({"format": FORMAT, **manifest, "files": files}, indent=1, ensure_ascii=False)
    (part / _MANIFEST).write_text(text + "\n", "utf-8")
    for name in (*files, _MANIFEST):
        with (part / name).open("rb") as file:
            os.fsync(file.fileno())


def manifest_of(folder: Path, part: str, remedy: str) -> dict[str, Any]:
    """The manifest of a part that is whole.

    Raises:
        RetrievalError: the part is missing, damaged, or of another format; says what to do, which is `remedy`.
    """
    path = folder / part / _MANIFEST
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
            raise ValueError("it is no manifest")
    except FileNotFoundError:
        there = f"{folder} holds no part {part!r}" if folder.is_dir() else f"there is no index folder {folder}"
        raise RetrievalError(f"{there}: {remedy}") from None
    except (OSError, ValueError) as error:
        raise RetrievalError(f"{path} cannot be read ({error}): {remedy}") from error
    if manifest.get("format") != FORMAT:
        raise RetrievalError(f"{folder / part} has format {manifest.get('format')}, not {FORMAT}: {remedy}")
    for name, size in manifest["files"].items():
        file = folder / part / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            raise RetrievalError(f"{file} has {found} bytes where {size} were written: {remedy}")
    return manifest


def mapped(path: Path) -> npt.NDArray[Any]:
    """The array in an .npy file, read-only and shared between processes.

    Raises:
        RetrievalError: the file holds no array.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        if "mmap" in str(error) or "empty" in str(error):  # an array without elements cannot be mapped
            return np.asarray(np.load(path, allow_pickle=False))
        raise RetrievalError(f"{path} holds no array ({error}): build the index again") from error


def mapped_bytes(path: Path) -> "memoryview[int]":
    """The bytes of a file, read-only and shared between processes."""
    return view(np.memmap(path, dtype=np.uint8, mode="r")) if path.stat().st_size else memoryview(b"")


def view(array: npt.NDArray[Any]) -> "memoryview[Any]":
    """An array whose single elements are read faster than numpy's."""
    return memoryview(array)  # type: ignore[arg-type]
