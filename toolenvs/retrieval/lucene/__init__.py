"""Lucene itself, through the jar of Anserini that pyserini ships; the Java machine lives in a process of its own."""

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from toolenvs.errors import RetrievalError
from toolenvs.retrieval import analysis
from toolenvs.retrieval.base import Hit, Retriever
from toolenvs.retrieval.corpus import parse_passage
from toolenvs.retrieval.folder import building, manifest_of, seal
from toolenvs.retrieval.lucene import java
from toolenvs.retrieval.lucene.process import JavaProcess
from toolenvs.retrieval.store import Store, Writer

__all__ = ["MAX_TERMS", "Lucene", "writer"]

PART = "lucene"
REMEDY = "build it with `toolenvs index CORPUS OUT --backend lucene`"
MAX_TERMS = 1024
"""Distinct terms of a query; of a query with more, the rarest are searched for, as Lucene refuses it whole."""


class Lucene(Retriever):
    """The `lucene` part of an index folder, or a folder with a Lucene index that Anserini or pyserini made.

    Args:
        source: the folder. One that pyserini made must hold the passages (--storeRaw), or `passages` is needed.
        passages: an index folder with the texts of such an index.
        k1: of BM25, how soon a term's repetition stops counting.
        b: of BM25, how much a passage's length counts.
        jar: Anserini's jar; by default that of the installed pyserini.
        heap: the most memory that Java takes for objects, such as "2g".
        timeout_s: for one call of `search`.

    Raises:
        RetrievalError: Java, the jar or the index is missing or does not fit; says what to install or build.
        MissingExtraError: pyjnius is not installed.
    """

    backend = "lucene"
    workers = 2

    def __init__(
        self,
        source: str | Path,
        *,
        passages: str | Path | None = None,
        k1: float = 0.9,
        b: float = 0.4,
        jar: str | Path | None = None,
        heap: str = "2g",
        timeout_s: float = 60.0,
    ) -> None:
        folder, corpus = Path(source), ""
        self._store: Store | None = None
        index = folder
        if not any(folder.glob("segments_*")):
            corpus = manifest_of(folder, PART, REMEDY)["corpus"]
            index, self._store = folder / PART / "index", Store(folder)
            self._store.check(corpus, PART)
        elif passages is not None:
            self._store = Store(Path(passages))
        found = java.find_jar(jar)
        self._java = JavaProcess(index, jar=found, home=java.find_java(), k1=k1, b=b, heap=heap, timeout_s=timeout_s)
        try:
            self.size = self._java.ask({"size": True})
            if self._store is not None and len(self._store) != self.size:
                raise RetrievalError(f"{index} holds {self.size} passages, its texts are {len(self._store)}: {REMEDY}")
        except BaseException:
            self._java.close()
            raise
        files = sorted((path.name, path.stat().st_size) for path in index.glob("*.*") if path.suffix != ".lock")
        identity = json.dumps([self.backend, corpus or files, k1, b, found.name])
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        found = self._java.ask({"queries": [self._bounded(query) for query in queries], "k": k})
        hits = iter(self.fetch([key for ranked in found for key, _ in ranked]))
        return [[self._scored(next(hits), key, score) for key, score in ranked] for ranked in found]

    def _bounded(self, query: str) -> str:
        """The query in whole characters, and with no more than `MAX_TERMS` distinct terms."""
        query = query.encode("utf-8", "replace").decode()
        distinct = Counter(analysis.terms(query)) if len(query) > 2 * MAX_TERMS else Counter()
        if len(distinct) <= MAX_TERMS:
            return query
        counted = zip(self._java.ask({"frequencies": list(distinct)}), distinct, strict=True)
        rarest = {term for _, term in sorted(pair for pair in counted if pair[0])[:MAX_TERMS]}
        return " ".join(word for word in analysis.words(query) if analysis.term_of(word) in rarest)

    def _scored(self, hit: Hit | None, key: str, score: float) -> Hit:
        if hit is None:
            raise RetrievalError(
                f"Lucene found the passage {key!r}, and its text is not there: index with --storeRaw, or give "
                "retrieval.open passages=FOLDER with the same corpus"
            )
        return Hit(hit.id, score, hit.title, hit.text)

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, with a score of 0; None for an id that the corpus does not have."""
        keys = list(ids)
        if self._store is not None:
            return self._store.fetch(keys)
        if not keys:
            return []
        return [None if raw is None else _parsed(key, raw) for key, raw in zip(keys, self._raw(keys), strict=True)]

    def _raw(self, keys: list[str]) -> list[str | None]:
        found: list[str | None] = self._java.ask({"raw": [key.encode("utf-8", "replace").decode() for key in keys]})
        return found

    @property
    def pid(self) -> int | None:
        """Of the process with the Java machine; None in a process that did not open this retriever."""
        return self._java.pid

    def close(self) -> None:
        """End the Java machine, if this process started it."""
        super().close()
        self._java.close()


def _parsed(key: str, raw: str) -> Hit:
    try:
        row = json.loads(raw)
    except ValueError:
        row = raw
    row = {**row, "id": key} if isinstance(row, dict) else {"id": key, "contents": raw}
    passage = parse_passage(row, f"the stored text of passage {key!r}")
    return Hit(passage.id, 0.0, passage.title, passage.text)


def writer(*, threads: int = 1, heap: str = "2g", jar: str | Path | None = None) -> Writer:
    """What writes the Lucene part of a store's folder.

    Args:
        threads: of Lucene's writer; with more than one, equal scores still stand in the order of ids.
        heap: the most memory that Java takes for objects.
        jar: Anserini's jar; by default that of the installed pyserini.

    Raises:
        RetrievalError: Java or the jar is missing; or, from what is returned, indexing failed; says why.
    """
    home, found = java.find_java(), java.find_jar(jar)
    java.check(home, found)
    return partial(_write, home=home, jar=found, heap=heap, threads=threads)


def _write(
    store: Store, progress: Callable[[int], None] | None = None, *, home: Path, jar: Path, heap: str, threads: int
) -> None:
    with building(store.folder, PART) as part:
        rows = part / "rows"
        rows.mkdir()
        with (rows / "passages.jsonl").open("w", encoding="utf-8") as out:
            for passage in store:
                out.write(json.dumps({"id": passage.id, "contents": passage.contents}) + "\n")
        command = [str(home / "bin" / "java"), f"-Xmx{heap}", "-cp", str(jar), "io.anserini.index.IndexCollection"]
        command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
        command += ["-input", str(rows), "-index", str(part / "index"), "-threads", str(threads)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode or not any((part / "index").glob("segments_*")):
            raise RetrievalError(f"Lucene could not index {store.folder}: {(done.stderr or done.stdout)[-1000:]}")
        (rows / "passages.jsonl").unlink()
        rows.rmdir()
        seal(part, {"corpus": store.fingerprint, "settings": {"jar": jar.name}})
    if progress is not None:
        progress(len(store))
