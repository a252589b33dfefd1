"""Indexes that this process shares, and those of the fictional world, built when they are first asked for.

Tools and judges of a page name an index in the same words, and get the same open retriever.
"""

import atexit
import contextlib
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolenvs import retrieval
from toolenvs.errors import PageError, RetrievalError
from toolenvs.retrieval.base import Retriever
from toolenvs.world import World

_WORLD = re.compile(r"world:(\d{1,7})(?::(\d{1,18}))?")
_ABOUT_THE_WORLD = ("world", "topics", "world_answers")
"""Generators whose tasks are about a world, of `passages` passages and of the seed `world`."""
_FORM = 1
"""To be raised when worlds or their indexes change, so that none of before is used."""

_shared: dict[tuple[int, str, str | None], Retriever] = {}
_lock = threading.Lock()


def retriever(index: str, backend: str | None) -> Retriever:
    """The one retriever of this process over `index`; a forked child opens its own. Closed when the process exits.

    Raises:
        PageError: "world:..." is not of the right form.
        RetrievalError: the index cannot be used.
    """
    key = (os.getpid(), index, backend)
    with _lock:
        if key not in _shared:
            opened = _open_world(index, backend) if index.startswith("world:") else retrieval.open(index, backend)
            _shared[key] = opened
        return _shared[key]


def disagrees(index: str, tasks: Mapping[str, Any]) -> str | None:
    """Why tasks about a fictional world cannot be answered from `index`: it is another world's."""
    read = _WORLD.fullmatch(index)
    if read is None or tasks.get("set") not in _ABOUT_THE_WORLD:
        return None
    asked = (tasks.get("passages", 1_000), tasks.get("world", 0))
    if asked == (int(read[1]), int(read[2] or 0)):
        return None
    return f"index = {index!r} is not the world of the tasks; set it to 'world:{asked[0]}:{asked[1]}'"


def world_of(index: str) -> World | None:
    """The fictional world that `index` names; None where it is another index.

    Raises:
        PageError: "world:..." is not of the right form.
    """
    if not index.startswith("world:"):
        return None
    read = _WORLD.fullmatch(index)
    if read is None:
        raise PageError(f"index {index!r}: say 'world:PASSAGES' or 'world:PASSAGES:SEED', in digits")
    return World(int(read[1]), seed=int(read[2] or 0))


def _open_world(index: str, backend: str | None) -> Retriever:
    """A retriever over a world; an index that is damaged is built again, once."""
    folder = _of_the_world(index)
    if backend in ("dense", "hybrid") and not (folder / "dense").is_dir():
        _build_dense(folder)
    try:
        return retrieval.open(folder, backend)
    except RetrievalError:
        if backend not in (None, "bm25", "boolean"):  # of the part that is built
            raise
    away = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    with contextlib.suppress(OSError):  # else another process was first
        folder.rename(away / "damaged")
    shutil.rmtree(away, ignore_errors=True)
    try:
        return retrieval.open(_of_the_world(index), backend)
    except RetrievalError as error:
        raise RetrievalError(f"{error}; delete {folder}, and it is built again") from error


def _of_the_world(index: str) -> Path:
    """The folder of a world's index; built aside and renamed, so that processes may do it at once.

    Raises:
        PageError: `index` is not of the right form.
        RetrievalError: the folder cannot be written.
    """
    world = world_of(index)
    assert world is not None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolenvs" / "indexes"
    folder = cache / f"world-{len(world)}-{world.seed}-{_FORM}"
    try:
        if not folder.is_dir():
            _build(world, folder)
    except OSError as error:
        raise RetrievalError(
            f"the index of {index!r} cannot be written to {cache} ({error}): set XDG_CACHE_HOME to a folder with room"
        ) from error
    return folder


def _build(world: World, folder: Path) -> None:
    cache = folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=cache))
    try:
        corpus = aside / "corpus.jsonl"
        with corpus.open("w", encoding="utf-8") as rows:
            for passage in world.passages():
                rows.write(json.dumps({"id": passage.id, "contents": passage.contents}) + "\n")
        retrieval.index(corpus, aside / "index")
        try:
            (aside / "index").rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _build_dense(folder: Path) -> None:
    """Add vectors to a world's index, by the encoder that needs no download."""
    from toolenvs.retrieval.dense import build
    from toolenvs.retrieval.store import Store

    try:
        build(Store(folder))
    except OSError as error:
        if not (folder / "dense").is_dir():  # else another process was first
            raise RetrievalError(f"the vectors of {folder} cannot be written ({error}): make room there") from error


def _close_shared() -> None:
    for (pid, _, _), opened in _shared.items():
        if pid == os.getpid():
            opened.close()


def _renew_lock() -> None:
    """Another thread of the parent may have held it at the moment of the fork."""
    global _lock
    _lock = threading.Lock()


atexit.register(_close_shared)
os.register_at_fork(after_in_child=_renew_lock)
