"""Vectors: exact search is exact, faiss's indexes are read and written, and hybrids fuse."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import retrieval
from toolenvs.errors import ConfigError, PageError, RetrievalError
from toolenvs.retrieval import Hit
from toolenvs.retrieval.dense import KINDS, ann, exact
from toolenvs.retrieval.dense.encoders import Vectors, load
from toolenvs.retrieval.hybrid import Hybrid, fuse

PASSAGES = Path(__file__).parent / "data" / "passages.jsonl"


def test_meaning_is_found_without_a_word_in_common(folder: Path) -> None:
    with retrieval.open(folder, backend="dense") as dense, retrieval.open(folder) as bm25:
        (hits,) = dense.search(["people who write books"], k=3)
        assert {"Ines Halloran", "The Tide Table", "Printing"} & {hit.title for hit in hits}
        assert bm25.search(["people who write books"]) == [[]]
        assert hits[0].score >= hits[1].score >= hits[2].score
        assert dense.search([""]) == [[]]
        assert len(dense.search(["\ud800 lake"], k=10_000)[0]) == dense.size


@pytest.mark.parametrize("rows", [1, 70, 40_000])
def test_exact_search_is_exact(rows: int) -> None:
    rng = np.random.default_rng(rows)
    vectors = rng.standard_normal((rows, 8), dtype=np.float32)
    vectors[rows // 2 :] = vectors[: rows - rows // 2]  # equal products
    queries = rng.standard_normal((70, 8), dtype=np.float32)
    rank = rng.permutation(rows).astype(np.int32)
    for k in (1, min(rows, 10), min(rows, 300)):
        found = exact.best(queries, vectors, k, rank)
        for query, (at, values) in zip(queries, found, strict=True):
            products = vectors @ query
            assert values == pytest.approx(np.sort(products)[::-1][:k].tolist(), abs=1e-4)
            assert np.asarray(values) == pytest.approx(products[at], abs=1e-4)
            assert all(
                first > second or rank[a] < rank[b]
                for first, second, a, b in zip(values, values[1:], at, at[1:], strict=False)
            )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_finds_most_of_the_nearest(tmp_path: Path, kind: str) -> None:
    retrieval.index(PASSAGES, tmp_path / "index", ["dense"], {"kind": kind})
    retrieval.index(PASSAGES, tmp_path / "exact", ["dense"])
    queries = ["a lake that is deep", "novels by sailors", "capital of a country", "rope", "printing"]
    with (
        retrieval.open(tmp_path / "index", backend="dense") as dense,
        retrieval.open(tmp_path / "exact", backend="dense") as true,
    ):
        found = dense.search(queries, 5)
        nearest = true.search(queries, 5)
        share = [len({hit.id for hit in a} & {hit.id for hit in b}) / 5 for a, b in zip(found, nearest, strict=True)]
        assert np.mean(share) >= 0.8


def test_rows_that_faiss_does_not_find_are_dropped() -> None:
    vectors = np.eye(4, dtype=np.float32)
    (found,) = ann.search(ann.create(vectors, "flat"), vectors[:1], 9, 1)
    assert sorted(found[0]) == [0, 1, 2, 3]
    assert len(found[1]) == 4


def test_a_file_that_faiss_wrote(tmp_path: Path, folder: Path) -> None:
    encoder = load("wordllama", {})
    with retrieval.open(folder) as bm25:
        texts = [hit.title + "\n" + hit.text for hit in bm25.fetch(map(str, range(5))) if hit]
    ann.write(ann.create(encoder.passages(texts), "flat"), tmp_path / "e5_Flat.index")
    with pytest.raises(ConfigError, match="give passages=FOLDER"):
        retrieval.open(tmp_path / "e5_Flat.index", backend="dense")
    with pytest.raises(RetrievalError, match="holds 5 vectors of 256 dimensions for 46 passages"):
        retrieval.open(tmp_path / "e5_Flat.index", backend="dense", passages=folder, encoder="wordllama")
    (tmp_path / "no.index").write_bytes(b"no index")
    with pytest.raises(RetrievalError, match="no faiss index"):
        retrieval.open(tmp_path / "no.index", backend="dense", passages=folder, encoder="wordllama")


class Letters:
    """An encoder of one's own: how often each letter stands in a text."""

    name, dim = "letters", 26

    def queries(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.lower().count(chr(97 + number)) for number in range(26)] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, 26)

    passages = queries


def test_another_encoder_than_that_of_the_index_is_refused(folder: Path) -> None:
    with pytest.raises(RetrievalError, match="was built by the encoder 'wordllama"):
        retrieval.open(folder, backend="dense", encoder=Letters())
    with pytest.raises(PageError, match="there is no 'wordlama'"):
        load("wordlama", {})


def test_e5_pools_prefixes_and_normalises(tmp_path: Path) -> None:
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "lake": 2, ":": 3}, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=4, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    encoder = load("e5", {"model": str(tmp_path), "batch": 2})
    alone = encoder.queries(["lake"])
    padded = encoder.queries(["lake", "lake lake lake lake lake", "x"])
    assert alone.shape == (1, 8)
    assert np.linalg.norm(padded, axis=1) == pytest.approx(1, abs=1e-5)
    assert padded[0] == pytest.approx(alone[0], abs=1e-5)  # what fills the batch up is not averaged in


def test_hybrid_fuses_and_fetches(folder: Path) -> None:
    with retrieval.open(folder, backend="hybrid") as both, retrieval.open(folder) as bm25:
        (hits,) = both.search(["lake of the plateau"], 5)
        assert hits[0].id in {hit.id for hit in bm25.search(["lake of the plateau"], 3)[0]}
        assert both.fetch(["0"])[0] is not None
    with pytest.raises(ConfigError, match="two rankings"):
        Hybrid(folder, of=["bm25"])
    with pytest.raises(ConfigError, match="names in a list, not 'bm25'"):
        Hybrid(folder, of="bm25")


@given(st.lists(st.permutations("abcdef"), min_size=1, max_size=3))
def test_fusion_keeps_what_all_agree_on(rankings: list[list[str]]) -> None:
    fused = fuse([[Hit(key, 1.0, "", "") for key in ranking] for ranking in rankings])
    assert sorted(hit.id for hit in fused) == list("abcdef")
    if all(ranking == rankings[0] for ranking in rankings):
        assert [hit.id for hit in fused] == rankings[0]
    assert fused[0].score <= len(rankings) / 61 + 1e-12
