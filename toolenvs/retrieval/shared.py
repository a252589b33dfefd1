"""Indexes that this process shares, and those of corpora with a name, built when they are first asked for.

Tools and judges of a page name an index in the same words, and get the same open retriever.
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs import retrieval
from toolenvs.errors import RetrievalError
from toolenvs.per_process import PerProcess
from toolenvs.retrieval import corpora
from toolenvs.retrieval.base import Retriever
from toolenvs.world import named, size_and_seed

_ABOUT_THE_WORLD = ("world", "topics", "world_answers")
"""Generators whose tasks are about a world, of `passages` passages and of the seed `world`."""
_FORM = 1
"""To be raised when worlds or their indexes change, so that none of before is used."""

_shared = PerProcess[Retriever]()


def retriever(index: str, backend: str | None, **options: Any) -> Retriever:
    """The one retriever of this process over `index`; a forked child opens its own. Closed when the process exits.

    Args:
        index: a folder, an address, or a corpus by its name: "factbook", "world:PASSAGES", "world:PASSAGES:SEED".
        backend: as for `retrieval.open`.
        options: the keywords of the backend's class.

    Raises:
        PageError: "world:..." is not of the right form.
        ConfigError: the backend or an option is not known.
        RetrievalError: the index cannot be used.
    """

    def opened() -> Retriever:
        made = _made(index)
        return retrieval.open(index, backend, **options) if made is None else _open_made(made, backend, options)

    return _shared.get((index, backend, repr(sorted(options.items()))), opened)


def over(
    index: str, folder: str, passages: Callable[[], Iterable[Any]], backend: str | None = None, **options: Any
) -> Retriever:
    """The one retriever of this process over passages of the caller's, built into the cache when first asked for.

    Args:
        index: what messages call it.
        folder: its name in the cache, another one whenever the passages are others.
        passages: gives them.
        backend: as for `retrieval.open`.
        options: the keywords of the backend's class.

    Raises:
        ConfigError: the backend or an option is not known.
        RetrievalError: the index cannot be written or used.
    """
    made = _Made(index, folder, passages)
    key = (folder, backend, repr(sorted(options.items())))
    return _shared.get(key, lambda: _open_made(made, backend, options))


def disagrees(index: str, tasks: Mapping[str, Any]) -> str | None:
    """Why tasks about a fictional world, or a corpus with a name, cannot be answered from `index`: it is another's."""
    read, about = size_and_seed(index), tasks.get("set")
    if about in corpora.names() and index != about and (read is not None or index in corpora.names()):
        return f"index = {index!r} is not the corpus of the tasks; set it to {about!r}"
    if index in corpora.names() and about in _ABOUT_THE_WORLD:
        return f"index = {index!r} does not hold the world of the tasks; set it to 'world:PASSAGES'"
    if read is None or tasks.get("set") not in _ABOUT_THE_WORLD:
        return None
    asked = (tasks.get("passages", 1_000), tasks.get("world", 0))
    if asked == read:
        return None
    return f"index = {index!r} is not the world of the tasks; set it to 'world:{asked[0]}:{asked[1]}'"


@dataclass(frozen=True, slots=True)
class _Made:
    """A corpus that needs no file: its index lies in the cache."""

    index: str
    folder: str
    """Its name there, which another form of the corpus does not have."""
    passages: Callable[[], Iterable[Any]]


def _made(index: str) -> _Made | None:
    """The corpus that `index` names; None where it is a folder or an address.

    Raises:
        PageError: "world:..." is not of the right form.
    """
    world = named(index)
    if world is not None:
        return _Made(index, f"world-{len(world)}-{world.seed}-{_FORM}", world.passages)
    corpus = None if Path(index).exists() else corpora.find(index)
    return None if corpus is None else _Made(index, f"{index}-{corpus.form()}", corpus.passages)


def _open_made(made: _Made, backend: str | None, options: Mapping[str, Any]) -> Retriever:
    """A retriever over a corpus in the cache; an index that is damaged is built again, once."""
    folder = _in_the_cache(made)
    if backend in ("dense", "hybrid") and not (folder / "dense").is_dir():
        _build_dense(folder)
    try:
        return retrieval.open(folder, backend, **options)
    except RetrievalError:
        if backend not in (None, "bm25", "boolean"):  # of the part that is built
            raise
    away = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    with contextlib.suppress(OSError):  # else another process was first
        folder.rename(away / "damaged")
    shutil.rmtree(away, ignore_errors=True)
    try:
        return retrieval.open(_in_the_cache(made), backend, **options)
    except RetrievalError as error:
        raise RetrievalError(f"{error}; delete {folder}, and it is built again") from error


def _in_the_cache(made: _Made) -> Path:
    """The folder of an index; built aside and renamed, so that processes may do it at once.

    Raises:
        RetrievalError: the folder cannot be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolenvs" / "indexes"
    folder = cache / made.folder
    try:
        if not folder.is_dir():
            _build(made, folder)
    except OSError as error:
        raise RetrievalError(
            f"the index of {made.index!r} cannot be written to {cache} ({error}): "
            "set XDG_CACHE_HOME to a folder with room"
        ) from error
    return folder


def _build(made: _Made, folder: Path) -> None:
    cache = folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=cache))
    try:
        corpus = aside / "corpus.jsonl"
        with corpus.open("w", encoding="utf-8") as rows:
            for passage in made.passages():
                rows.write(json.dumps({"id": passage.id, "title": passage.title, "text": passage.text}) + "\n")
        retrieval.index(corpus, aside / "index")
        try:
            (aside / "index").rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _build_dense(folder: Path) -> None:
    """Add vectors to a made index, by the encoder that needs no download; one process at a time, and once."""
    from toolenvs.retrieval.dense import writer
    from toolenvs.retrieval.store import Store

    try:
        with (folder / ".dense.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "dense").is_dir():
                writer()(Store(folder), None)
    except OSError as error:
        raise RetrievalError(f"the vectors of {folder} cannot be written ({error}): make room there") from error
