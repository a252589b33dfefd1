"""What every retriever can do, and what it finds."""

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from toolenvs.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that a search found."""

    id: str
    """The passage's id in its corpus."""
    score: float
    """Higher is better; comparable within one list only."""
    title: str
    """ "" where the corpus has none."""
    text: str
    """The passage without its title."""


class Retriever(ABC):
    """Finds passages of one corpus. Safe to call from several threads; to be closed, or used as a context manager.

    A subclass sets the three attributes and defines `_search` and `fetch`.
    """

    backend: str
    """Its name in `toolenvs.retrieval.BACKENDS`."""
    fingerprint: str
    """Of the corpus and of all settings that the ranking depends on: equal fingerprints, equal answers."""
    size: int
    """Number of passages."""
    workers: int = 1
    """Threads that `asearch` uses: 1 where a search holds the interpreter's lock anyway."""
    in_memory: bool = False
    """Whether a search waits for nothing: for no process, network or lock."""

    _executor: ThreadPoolExecutor | None = None
    _executor_pid: int = 0

    def search(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """For each query its best passages, best first, at most `k`; equal scores stand in order of their ids.

        An empty query, or one of stop words only, finds nothing.

        Raises:
            ConfigError: `queries` is no list of strings, or `k` is not a positive integer.
            RetrievalError: the retriever failed, which is not the query's fault.
        """
        check(queries, k)
        return self._search(list(queries), min(k, self.size)) if self.size else [[] for _ in queries]

    async def asearch(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """`search` in a thread, so that the event loop goes on meanwhile."""
        if self._executor is None or self._executor_pid != os.getpid():  # threads stay behind in a fork
            self._executor_pid = os.getpid()
            self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix=f"toolenvs-{self.backend}")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self.search, queries, k)

    @abstractmethod
    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        """`search`, with its arguments checked and 1 <= `k` <= `size`."""

    @abstractmethod
    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, with a score of 0; None for an id that the corpus does not have."""

    def close(self) -> None:
        """Let go of files, threads and processes; a second call does nothing."""
        if self._executor is not None and self._executor_pid == os.getpid():
            self._executor.shutdown(wait=not threading.current_thread().name.startswith("toolenvs-"))
        self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check(queries: Sequence[str], k: int) -> None:
    """That a search can be asked for so.

    Raises:
        ConfigError: `queries` is no list of strings, or `k` is not a positive integer.
    """
    listed = isinstance(queries, Collection) and not isinstance(queries, str | Set | Mapping)
    if not listed or not all(isinstance(query, str) for query in queries):
        raise ConfigError(f"search() takes a list of queries, each a str; this is {queries!r:.100}")
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"search(k={k!r}): k is the number of passages wanted, at least 1")
