"""Boolean search: what matches is what a table of truth says, and no query is refused or costs much."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import retrieval
from toolenvs.errors import RetrievalError
from toolenvs.retrieval import analysis, boolean

PASSAGES = {
    "1": ("Statins", "Statins after a stroke of the brain"),
    "2": ("Lipids", "Lipid lowering and the stroke unit"),
    "3": ("Children", "Statins in children"),
    "4": ("Stroke", "Lowering of lipid levels in children and adults"),
    "5": ("Gardens", "Roses and other flowers"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("boolean")
    corpus = folder / "corpus.jsonl"
    rows = [f'{{"id": "{key}", "contents": "\\"{title}\\"\\n{text}"}}\n' for key, (title, text) in PASSAGES.items()]
    corpus.write_text("".join(rows), "utf-8")
    retrieval.index(corpus, folder / "index")
    with retrieval.open(folder / "index", backend="boolean") as retriever:
        yield retriever


def found(index: Any, query: str) -> set[str]:
    return {hit.id for hit in index.search([query], k=10)[0]}


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("statins", "13"),
        ("statin", "13"),  # as the index is stemmed
        ("statin*", "13"),
        ("statins stroke", "1"),  # side by side is AND
        ("statins AND stroke", "1"),
        ("statins and stroke", "1"),  # a stop word
        ("statins OR stroke", "1234"),
        ("statins NOT stroke", "3"),
        ("stroke OR flowers AND children", "4"),  # from left to right
        ("stroke OR (flowers AND children)", "124"),
        ("stroke NOT (statins OR units)", "4"),
        ('"lipid lowering"', "2"),
        ('"lowering lipid"', "4"),  # "of" is left out
        ("lipid-lowering", "2"),  # one word of two terms is a phrase
        ('"lipid lowering"[tiab] OR rose[mesh]', "25"),
        ("stroke[ti]", "4"),
        ("stroke[Title] OR lipids [ti]", "24"),
        ("statins AND 1990:2000[dp]", "13"),
        ("statins NOT 2000[dp] stroke", "1"),
        ("NOT statins", "245"),
        ("NOT NOT statins", "245"),  # the last operator counts
        ("NOT (NOT statins)", "13"),
        ("(statins AND stroke", "1"),
        ("statins) AND stroke", "1"),
        ("statins AND", "13"),
        ("OR statins", "13"),
        ("() statins", "13"),
        ("statins AND nowhere", ""),
        ("nowhere OR statins", "13"),
        ("the", ""),
        ("the AND statins", "13"),
        ("", ""),
        ('"', ""),
        ("[ti]", ""),
    ],
)
def test_what_matches(index: Any, query: str, ids: str) -> None:
    assert found(index, query) == set(ids)


def test_the_words_that_are_not_negated_rank(index: Any) -> None:
    by_bm25 = retrieval.open(index._store.folder)
    ranked = by_bm25.search(["statins stroke children"], k=10)[0]
    for query in ("statins OR stroke OR children", "(children OR (stroke OR statins)) NOT (roses OR brainless)"):
        assert index.search([query], k=10)[0] == ranked
    for hit in index.search(["NOT statins"], k=10)[0]:
        assert hit.score == 0
    one, two = index.search(["NOT (NOT statins)", "statins"], k=10)
    assert one == two
    assert [hit.id for hit in index.search(["statins OR stroke"], k=1)[0]] == [
        index.search(["statins OR stroke"])[0][0].id
    ]
    assert index.fingerprint != by_bm25.fingerprint


words = st.sampled_from(["statins", "stroke", "children", "lipid", "roses", "adults"])
trees = st.recursive(
    words,
    lambda inner: st.tuples(st.sampled_from(["AND", "OR", "NOT"]), inner, inner),
    max_leaves=12,
)


def written(tree: Any) -> str:
    return tree if isinstance(tree, str) else f"({written(tree[1])} {tree[0]} {written(tree[2])})"


def truth(tree: Any) -> set[str]:
    if isinstance(tree, str):
        (term,) = analysis.terms(tree)
        return {key for key, texts in PASSAGES.items() if term in analysis.terms(" ".join(texts))}
    left, right = truth(tree[1]), truth(tree[2])
    return {"AND": left & right, "OR": left | right, "NOT": left - right}[tree[0]]


@given(tree=trees)
def test_any_expression_is_its_table_of_truth(index: Any, tree: Any) -> None:
    assert found(index, written(tree)) == truth(tree)


pieces = st.sampled_from(
    [
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        '"',
        "[ti]",
        "[dp]",
        "[",
        "]",
        "statins",
        "stroke",
        " ",
        "*",
        "\0",
        "\ud800",
        "ſ",
        "²",
    ]
)


@settings(max_examples=300)
@given(query=st.one_of(st.text(max_size=60), st.lists(pieces, max_size=30).map(" ".join)))
def test_every_query_is_one(index: Any, query: str) -> None:
    hits = index.search([query], k=10)[0]
    assert {hit.id for hit in hits} <= set(PASSAGES)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


HOSTILE = {
    "parentheses": "(" * 100_000 + "statins" + ")" * 100_000,
    "open": "(statins OR " * 20_000,
    "closed": ")" * 200_000,
    "negations": "NOT " * 50_000 + "statins",
    "quotes": '"' * 100_001,
    "brackets": "[" * 200_000,
    "fields": "statins[ti]" * 20_000,
    "clauses": " OR ".join(f'"statins in children {number}"' for number in range(10_000)),
    "regular expression": "(a+)+$" * 20_000,
    "one word": "x" * 500_000,
    "control characters": "\x00\x07\x1b[31m\x7f" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_cost_little(index: Any, name: str) -> None:
    index.search(["statins"])
    before_s = time.process_time()
    index.search([HOSTILE[name]], k=10)
    assert time.process_time() - before_s < 5


def test_clauses_beyond_the_most_are_not_read(index: Any) -> None:
    most = boolean.MAX_CLAUSES
    assert found(index, " OR ".join(["nowhere"] * (most - 1) + ["statins", "roses"])) == {"1", "3"}


def test_of_too_many_passages_the_text_is_not_read(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MAX_VERIFIED", 1)
    assert found(index, '"lipid lowering"') == {"2", "4"}


def test_it_needs_the_part_bm25(tmp_path: Path) -> None:
    with pytest.raises(RetrievalError):
        retrieval.open(tmp_path, backend="boolean")
