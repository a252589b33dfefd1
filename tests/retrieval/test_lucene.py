"""Lucene itself, in its own process, over the hand-made passages and over random ones."""

import concurrent.futures
import json
import multiprocessing
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs import retrieval
from toolenvs.errors import RetrievalError
from toolenvs.retrieval.lucene import Lucene, java

_STONES = "amber basalt cedar dolomite ember flint granite harbour island jetty kelp lantern mill nave oak"
STONES = _STONES.split()
PASSAGES = Path(__file__).parent / "data" / "passages.jsonl"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-made passages and 3,000 random ones, many of which score alike."""
    rng = random.Random(3)
    lines = PASSAGES.read_text("utf-8").splitlines()
    for number in range(3000):
        text = " ".join(rng.choices(STONES, [1 / (place + 1) for place in range(15)], k=rng.randint(1, 30)))
        lines.append(json.dumps({"id": f"r{number}", "contents": text}))
    folder = tmp_path_factory.mktemp("lucene")
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    retrieval.index(folder / "texts.jsonl", folder / "index", ["bm25", "lucene"])
    return folder / "index"


@pytest.fixture(scope="module")
def lucene(both: Path) -> Iterator[Lucene]:
    with Lucene(both, heap="512m") as retriever:
        yield retriever


def test_the_embedded_index_ranks_as_lucene_does(both: Path, lucene: Lucene) -> None:
    rng = random.Random(5)
    queries = json.loads((PASSAGES.parent / "queries.json").read_text("utf-8"))
    queries += [" ".join(rng.choices([*STONES, "lake"], k=rng.randint(1, 12))) for _ in range(300)]
    for kernel in ("numpy", "numba"):
        with retrieval.open(both, kernel=kernel) as ours:
            for k in (1, 10, 100):
                for query, mine, theirs in zip(
                    queries, ours.search(queries, k), lucene.search(queries, k), strict=True
                ):
                    assert [hit.id for hit in mine] == [hit.id for hit in theirs], query
                    assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in theirs], abs=2e-4)


def test_odd_queries(lucene: Lucene) -> None:
    many = " ".join(f"zz{number}" for number in range(1500))
    found = lucene.search(["", "the", "\ud800 lighthouse", "lighthouse", many + " lighthouse"], k=10_000)
    assert found[:2] == [[], []]
    assert found[2] == found[3] != []
    assert {hit.id for hit in found[4]} == {hit.id for hit in found[3]}


def _ask(folder_and_query: tuple[Lucene, str]) -> list[str]:
    retriever, query = folder_and_query
    return [hit.id for hit in retriever.search([query], 3)[0]]


def test_a_forked_child_asks_the_same_machine(lucene: Lucene) -> None:
    expected = _ask((lucene, "lighthouse"))
    reader, writer = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        writer.send(_ask((lucene, "lighthouse")))
        lucene.close()  # not the child's to end

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert reader.poll(60)
    assert reader.recv() == expected
    process.join(30)
    assert process.exitcode == 0
    assert _ask((lucene, "lighthouse")) == expected


def test_a_machine_that_died_is_started_again(lucene: Lucene) -> None:
    expected = _ask((lucene, "lighthouse"))
    for _ in range(3):  # it may be asked while it is dying
        before = lucene.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert list(pool.map(_ask, [(lucene, "lighthouse")] * 4)) == [expected] * 4
        assert lucene.pid != before


def test_the_machine_ends_with_its_retriever(both: Path) -> None:
    with Lucene(both, heap="256m") as retriever:
        pid = retriever.pid
        assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(RetrievalError, match="closed|died"):
        retriever.search(["lighthouse"])


def test_an_index_that_pyserini_made(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.jsonl").write_text(PASSAGES.read_text("utf-8"), "utf-8")
    for stored in (True, False):
        index = tmp_path / f"index-{stored}"
        command = [str(java.find_java() / "bin" / "java"), "-cp", str(java.find_jar(None))]
        command += ["io.anserini.index.IndexCollection", "-collection", "JsonCollection", "-generator"]
        command += ["DefaultLuceneDocumentGenerator", "-input", str(texts), "-index", str(index)]
        subprocess.run([*command, *(["-storeRaw"] if stored else [])], check=True, capture_output=True)
    with retrieval.open(tmp_path / "index-True", backend="lucene", heap="256m") as retriever:
        hit = retriever.search(["deepest lake"], 1)[0][0]
        assert (hit.id, hit.title) == ("0", "Lake Vostrel")
        assert retriever.fetch(["no such"]) == [None]
    retrieval.index(PASSAGES, tmp_path / "ours")
    with (
        retrieval.open(tmp_path / "index-False", backend="lucene", heap="256m") as bare,
        retrieval.open(tmp_path / "index-False", backend="lucene", passages=tmp_path / "ours", heap="256m") as mended,
    ):
        with pytest.raises(RetrievalError, match=r"text is not there.*passages=FOLDER"):
            bare.search(["deepest lake"])
        assert mended.search(["deepest lake"], 1)[0][0].title == "Lake Vostrel"


def test_what_is_missing_is_named(tmp_path: Path, both: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RetrievalError, match="there is no jar at .*pip install --no-deps pyserini"):
        Lucene(both, jar=tmp_path / "no.jar")
    old = tmp_path / "java"
    old.mkdir()
    (old / "release").write_text('JAVA_VERSION="1.8.0_402"\n')
    with pytest.raises(RetrievalError, match="needs Java 11 or newer, and .* is Java 8"):
        java.check(old, java.find_jar(None))
    with pytest.raises(RetrievalError, match="needs Java 21"):
        java.check(old, tmp_path / "anserini-0.44.0-fatjar.jar")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(RetrievalError, match="needs Java, and there is none here .*openjdk-17-jre-headless"):
        Lucene(both)


def test_the_fingerprint_is_of_corpus_and_settings(both: Path, lucene: Lucene) -> None:
    with Lucene(both, heap="256m") as same, Lucene(both, k1=1.2, heap="256m") as other:
        assert same.fingerprint == lucene.fingerprint != other.fingerprint
