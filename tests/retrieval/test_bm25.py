"""Rankings are Lucene's with both kernels; an index says what is wrong with it."""

import asyncio
import json
import multiprocessing
import random
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import retrieval
from toolenvs.errors import ConfigError, RetrievalError
from toolenvs.retrieval.bm25 import MAX_TERMS, Bm25, builder, similarity, writer
from toolenvs.retrieval.bm25.rank import kth
from toolenvs.retrieval.folder import building
from toolenvs.retrieval.store import Store

WORDS = [f"w{number}" for number in range(40)]


def write(path: Path, texts: list[str]) -> Path:
    rows = [{"id": str(number), "contents": text} for number, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def brute_force(texts: list[str], query: str, k: int) -> list[str]:
    """BM25 written out, one passage at a time."""
    split = [text.split() for text in texts]
    full = [words for words in split if words]
    average = np.float32(sum(map(len, full)) / len(full))
    codes = similarity.length_bytes(np.array([len(words) for words in split]))
    inverse = similarity.inverses(0.9, 0.4, float(average))[codes]
    weights = {}
    for word in query.split():
        holders = np.array([sum(word in words for words in split)])
        weights[word] = np.float32(query.split().count(word)) * similarity.idf(len(full), holders)[0]
    found = []
    for number, words in enumerate(split):
        total = 0.0
        for word, weight in weights.items():
            if word in words:
                total += float(weight - weight / (np.float32(1) + np.float32(words.count(word)) * inverse[number]))
        if total:
            found.append((-np.float32(total), str(number)))
    return [key for _, key in sorted(found)[:k]]


@pytest.fixture
def bm25(folder: Path, kernel: str) -> Iterator[retrieval.Retriever]:
    with retrieval.open(folder, kernel=kernel) as retriever:
        yield retriever


def test_rankings_are_those_that_lucene_recorded(bm25: retrieval.Retriever, recorded: dict[str, Any]) -> None:
    rankings = recorded["rankings"]
    found = bm25.search(list(rankings), k=10)
    for (query, expected), hits in zip(rankings.items(), found, strict=True):
        assert [hit.id for hit in hits] == [key for key, _ in expected], query
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-4), query


@pytest.mark.parametrize("seed", range(4))
def test_rankings_of_many_passages_are_those_of_the_formula(tmp_path: Path, kernel: str, seed: int) -> None:
    rng = random.Random(seed)
    weights = [1 / (number + 1) for number in range(len(WORDS))]
    texts = [" ".join(rng.choices(WORDS, weights, k=rng.randint(0, 60))) for _ in range(700)]
    store = retrieval.index(write(tmp_path / "texts.jsonl", texts), tmp_path / "index", options={"processes": 1})
    assert len(store) == 700
    with retrieval.open(tmp_path / "index", kernel=kernel) as retriever:
        for k in (1, 3, 10, 1000):
            query = " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))
            assert [hit.id for hit in retriever.search([query], k)[0]] == brute_force(texts, query, k)


def test_windows_and_lookups_agree_between_the_kernels(tmp_path: Path) -> None:
    rng = random.Random(7)
    vocabulary = [f"v{number}" for number in range(3000)]
    weights = [1 / (number + 3) for number in range(3000)]
    texts = [" ".join(rng.choices(vocabulary, weights, k=12)) for _ in range(50_000)]  # three windows
    retrieval.index(write(tmp_path / "texts.jsonl", texts), tmp_path / "index")
    with Bm25(tmp_path / "index", kernel="numpy") as one, Bm25(tmp_path / "index", kernel="numba") as other:
        for _ in range(200):
            query = " ".join(rng.choices(vocabulary, weights, k=rng.randint(1, 8)))
            k = rng.choice([1, 10, 200])
            assert one.rank(query, k) == other.rank(query, k), query


@given(st.lists(st.floats(0, 8, width=16), min_size=1, max_size=4000), st.integers(1, 60))
def test_the_kth_greatest(values: list[float], k: int) -> None:
    k = min(k, len(values))
    assert kth(np.tile(np.array(values, dtype=np.float32), 3), k) == sorted(values * 3)[-k]


def test_lengths_are_kept_as_lucene_keeps_them() -> None:
    # SmallFloat.byte4ToInt of some bytes
    lengths = similarity.LENGTHS[[0, 23, 24, 39, 40, 41, 56, 255]].tolist()
    assert lengths[:6] == [0, 23, 24, 39, 40, 42]
    assert lengths[-1] == 2013265944
    assert (np.diff(similarity.LENGTHS) > 0).all()


@pytest.mark.parametrize("query", ["", " ", "the of", "zxqv", "\ud800", "?!"])
def test_what_holds_no_known_term_finds_nothing(bm25: retrieval.Retriever, query: str) -> None:
    assert bm25.search([query, "lighthouse"], k=1)[0] == []
    assert bm25.search([]) == []


def test_bad_arguments_are_refused(bm25: retrieval.Retriever, folder: Path) -> None:
    with pytest.raises(ConfigError, match="list of queries"):
        bm25.search("lighthouse")
    for k in (0, -1, 1.5, True):
        with pytest.raises(ConfigError, match="at least 1"):
            bm25.search(["lighthouse"], k=k)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'bm25'"):
        retrieval.open(folder, backend="bm52")
    with pytest.raises(ConfigError, match="unexpected keyword"):
        retrieval.open(folder, k1=1.2)
    with pytest.raises(ConfigError, match="kernel"):
        retrieval.open(folder, kernel="fast")


def test_a_query_of_very_many_terms_keeps_the_rarest(tmp_path: Path, kernel: str) -> None:
    texts = [" ".join(f"w{number}" for number in range(3000)), *(f"w{number}" for number in range(2000))]
    retrieval.index(write(tmp_path / "texts.jsonl", texts), tmp_path / "index")
    with Bm25(tmp_path / "index", kernel=kernel) as retriever:
        rows, scores = retriever.rank(texts[0], 5)
        assert rows[0] == 0
        assert scores[0] > scores[1]
        few = " ".join(f"w{number}" for number in range(2000, 2000 + MAX_TERMS - 24))
        assert retriever.rank(few, 5)[0] == [0]


async def test_asearch_runs_beside_the_loop(bm25: retrieval.Retriever) -> None:
    found = await asyncio.gather(*[bm25.asearch(["lighthouse keeper"], k=2) for _ in range(8)])
    assert all(hits == found[0] for hits in found)
    assert found[0][0][0].id == "tie-10"


def test_a_forked_child_has_threads_of_its_own(folder: Path) -> None:
    with retrieval.open(folder, kernel="numpy") as retriever:
        expected = asyncio.run(retriever.asearch(["lake"], 1))

        def child() -> None:
            assert asyncio.run(retriever.asearch(["lake"], 1)) == expected
            retriever.close()

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        assert process.exitcode == 0


def test_passages_are_fetched_by_id(bm25: retrieval.Retriever) -> None:
    missing, stone, lake = bm25.fetch(["tie", "w3", "0"])
    assert missing is None
    assert stone is not None
    assert (stone.title, stone.score) == ("Stone dolomite", 0.0)
    assert lake is not None
    assert lake.text.startswith("Lake Vostrel is the deepest")


def _search(folder: Path) -> list[str]:
    with retrieval.open(folder) as retriever:
        return [hit.id for hit in retriever.search(["lake"], 3)[0]]


def test_processes_share_an_index_whichever_way_they_start(folder: Path) -> None:
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(_search_from_here, [folder] * 2) == [_search(folder)] * 2


_search_from_here = _search


def test_the_same_corpus_gives_the_same_index_with_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Path(__file__).parent / "data" / "passages.jsonl"
    monkeypatch.setattr("toolenvs.retrieval.bm25.builder.PIECE_ROWS", 7)
    for name, processes in (("one", 1), ("two", 2)):
        retrieval.index(corpus, tmp_path / name, options={"processes": processes})
    for path in sorted((tmp_path / "one").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path
    with retrieval.open(tmp_path / "one") as one, retrieval.open(tmp_path / "two") as two:
        assert one.fingerprint == two.fingerprint


def test_compiled_code_and_words_forgotten_between_pieces_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Path(__file__).parent / "data" / "passages.jsonl"
    many = 1_000_000
    for name, known, compiled in (("one", many, many), ("two", 3, many), ("three", many, 0), ("four", 3, 0)):
        monkeypatch.setattr("toolenvs.retrieval.bm25.builder._KNOWN_WORDS", known)
        monkeypatch.setattr("toolenvs.retrieval.bm25.builder.COMPILED_ROWS", compiled)
        monkeypatch.setattr("toolenvs.retrieval.bm25.builder.PIECE_ROWS", 5)
        retrieval.index(corpus, tmp_path / name, options={"processes": 1})
    for name in ("two", "three", "four"):
        for path in sorted((tmp_path / "one").rglob("*.*")):
            assert path.read_bytes() == (tmp_path / name / path.relative_to(tmp_path / "one")).read_bytes(), path


@given(st.lists(st.text("abzA1_.' \né", max_size=300), min_size=1, max_size=5), st.integers(1, 3))
def test_words_are_numbered_alike_by_compiled_code(texts: list[str], times: int) -> None:
    one, other = builder._Analyser(compiled=False), builder._Analyser(compiled=True)
    for _ in range(times):
        for mine, theirs in zip(one.numbered(texts), other.numbered(texts), strict=True):
            assert mine.tolist() == theirs.tolist()
    assert list(one.numbers.terms) == list(other.numbers.terms)


def test_compiled_code_makes_room_for_many_words() -> None:
    texts = [" ".join(f"w{number}{'x' * (number % 40)}" for number in range(start, 80_000, 7)) for start in range(7)]
    one, other = builder._Analyser(compiled=False), builder._Analyser(compiled=True)
    mine, theirs = one.numbered(texts), other.numbered(texts)
    assert (mine[0] == theirs[0]).all()
    assert (mine[1] == theirs[1]).all()
    assert len(one) == len(other) == 80_000


def test_a_small_index_is_searched_without_compiled_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Bm25(folder) as retriever:
        assert retriever.kernel == "numpy"
    monkeypatch.setattr("toolenvs.retrieval.bm25.COMPILED_SIZE", 1)
    with Bm25(folder) as retriever:
        assert retriever.kernel == "numba"


@pytest.mark.parametrize("name", ["rows", "counts", "lengths", "terms"])
def test_an_index_that_does_not_find_its_own_passage_is_refused(tmp_path: Path, name: str) -> None:
    retrieval.index(write(tmp_path / "texts.jsonl", ["lake", "lake lake stone", "stone"]), tmp_path / "one")
    with retrieval.open(tmp_path / "one"):
        pass
    part = tmp_path / "one" / "bm25"
    if name == "terms":
        (part / "terms.bin").write_bytes((part / "terms.bin").read_bytes()[::-1])
    else:
        array = np.load(part / f"{name}.npy")
        np.save(part / f"{name}.npy", array[::-1] + np.ones_like(array))
    with pytest.raises(RetrievalError, match="does not find passage '1' of its own corpus"):
        retrieval.open(tmp_path / "one")


def test_an_index_that_does_not_fit_its_corpus_is_refused(folder: Path, tmp_path: Path) -> None:
    mixed = shutil.copytree(folder, tmp_path / "mixed")
    retrieval.index(write(tmp_path / "texts.jsonl", ["another corpus"]), tmp_path / "other")
    shutil.rmtree(mixed / "passages")
    shutil.copytree(tmp_path / "other" / "passages", mixed / "passages")
    with pytest.raises(RetrievalError, match=r"built from another corpus.*build it again"):
        retrieval.open(mixed)


def test_a_damaged_index_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RetrievalError, match=r"no index folder.*toolenvs index"):
        retrieval.open(tmp_path / "nothing")
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    data = (damaged / "bm25" / "rows.npy").read_bytes()
    (damaged / "bm25" / "rows.npy").write_bytes(data[:-8])
    with pytest.raises(RetrievalError, match=r"rows\.npy has .* bytes where"):
        retrieval.open(damaged)
    (damaged / "bm25" / "manifest.json").write_text("{")
    with pytest.raises(RetrievalError, match="cannot be read"):
        retrieval.open(damaged)
    (damaged / "bm25" / "manifest.json").write_text('{"format": 0, "files": {}}')
    with pytest.raises(RetrievalError, match="has format 0"):
        retrieval.open(damaged)


@pytest.mark.parametrize(
    "options",
    [
        {"k1": "x"},
        {"k1": -1},
        {"k1": float("nan")},
        {"k1": float("inf")},
        {"b": 2},
        {"b": -0.1},
        {"b": None},
        {"b": True},
    ],
)
def test_settings_that_rank_nothing_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    """Of these most had built an index, in which nothing or everything was found. What was there before stays."""
    retrieval.index(write(tmp_path / "texts.jsonl", ["lake"]), tmp_path / "index")
    with pytest.raises(ConfigError, match=r"bm25: (k1 is a number above 0|b is a number from 0 to 1), not"):
        retrieval.index(write(tmp_path / "new.jsonl", ["sea"]), tmp_path / "index", options=options)
    with retrieval.open(tmp_path / "index") as retriever:
        assert [hit.text for hit in retriever.search(["lake"])[0]] == ["lake"]


@pytest.mark.parametrize("queries", [None, 3, "lake", (query for query in ["lake"]), {"lake"}])
def test_queries_that_are_no_list_are_refused(folder: Path, queries: Any) -> None:
    """A generator had been read to its end before it was searched for."""
    with retrieval.open(folder) as retriever, pytest.raises(ConfigError, match="takes a list of queries"):
        retriever.search(queries)


def test_an_interrupted_build_leaves_the_old_index(folder: Path, tmp_path: Path) -> None:
    kept = shutil.copytree(folder, tmp_path / "kept")

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer(k1=2.0, b=0.1, processes=1)(Store(kept), interrupt)
    assert sorted(path.name for path in kept.iterdir()) == ["bm25", "dense", "passages"]
    with retrieval.open(kept) as retriever, retrieval.open(folder) as before:
        assert retriever.fingerprint == before.fingerprint
        assert retriever.search(["lake"]) == before.search(["lake"])


def test_an_interrupt_while_the_new_index_takes_its_place_leaves_the_old_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = shutil.copytree(folder, tmp_path / "kept")
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.name.endswith(".building"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer(k1=2.0, b=0.1, processes=1)(Store(kept), None)
    monkeypatch.setattr(Path, "rename", rename)
    assert sorted(path.name for path in kept.iterdir()) == ["bm25", "dense", "passages"]
    with retrieval.open(kept) as retriever, retrieval.open(folder) as before:
        assert retriever.fingerprint == before.fingerprint
    (kept / "bm25").rename(kept / f".bm25.{2**30}.replaced")  # as where the process was killed at that moment
    with pytest.raises(KeyboardInterrupt), building(kept, "bm25"):
        raise KeyboardInterrupt
    with retrieval.open(kept) as retriever, retrieval.open(folder) as before:
        assert retriever.fingerprint == before.fingerprint


def test_a_build_that_was_killed_leaves_nothing_for_ever(tmp_path: Path) -> None:
    script = "import os, sys; from toolenvs.retrieval import index; index(sys.argv[1], sys.argv[2], report=os._exit)"
    script = script.replace("report=os._exit", "report=lambda *_: os._exit(9)")
    corpus = str(write(tmp_path / "texts.jsonl", ["lake"] * 1200))
    assert subprocess.run([sys.executable, "-c", script, corpus, str(tmp_path / "index")]).returncode == 9
    assert [path.name for path in (tmp_path / "index").iterdir()] != []
    with pytest.raises(RetrievalError, match="toolenvs index"):
        retrieval.open(tmp_path / "index")
    retrieval.index(corpus, tmp_path / "index")
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == ["bm25", "passages"]


def test_a_script_without_a_main_guard_can_build_with_many_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom toolenvs import retrieval\nfrom toolenvs.retrieval.bm25 import builder\n"
        "builder.PIECE_ROWS = 10\nretrieval.index(sys.argv[1], sys.argv[2], options={'processes': 3})\n"
    )
    corpus = write(tmp_path / "texts.jsonl", [f"lake {number}" for number in range(95)])
    subprocess.run([sys.executable, str(script), str(corpus), str(tmp_path / "index")], check=True)
    with retrieval.open(tmp_path / "index") as retriever:
        assert [hit.id for hit in retriever.search(["lake 94"], 1)[0]] == ["94"]


@pytest.mark.parametrize("texts", [[], [""], ["the", ""]])
def test_a_corpus_without_terms_can_be_indexed(tmp_path: Path, kernel: str, texts: list[str]) -> None:
    retrieval.index(write(tmp_path / "texts.jsonl", texts), tmp_path / "index")
    with retrieval.open(tmp_path / "index", kernel=kernel) as retriever:
        assert retriever.size == len(texts)
        assert retriever.search(["lake the"]) == [[]]


def test_terms_of_one_checksum_are_found_each(tmp_path: Path) -> None:
    words = ["lake", "plumless", "stone", "buckeroo"]
    retrieval.index(write(tmp_path / "texts.jsonl", words), tmp_path / "index")
    assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")
    with retrieval.open(tmp_path / "index") as retriever:
        for number, word in enumerate(words):
            assert [hit.id for hit in retriever.search([word], 3)[0]] == [str(number)]


def test_long_words_of_one_beginning_are_told_apart() -> None:
    texts = [f"{'internationalisation'[:size]}" for size in range(1, 20)] * 2 + [
        "a" * 8,
        "a" * 9,
        "a" * 8 + "b",
        "é " * 3,
    ]
    one, other = builder._Analyser(compiled=False), builder._Analyser(compiled=True)
    assert [part.tolist() for part in one.numbered(texts)] == [part.tolist() for part in other.numbered(texts)]
