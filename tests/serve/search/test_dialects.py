"""Requests as the published clients send them, answers as they read them; and our own client, in every dialect."""

import json
import re

import httpx
import msgpack
import pytest

from toolenvs import retrieval
from toolenvs.retrieval import Hit, Passage

QUERIES = ["Who wrote the first novel?", "clocks, repaired", "the of and"]


def contents(hit: Hit) -> str:
    return Passage(hit.id, hit.title, hit.text).contents


@pytest.fixture
def found(local: retrieval.Retriever) -> list[list[Hit]]:
    found = local.search(QUERIES, 2)
    assert found[0]
    assert not found[2]
    return found


def test_search_r1_with_scores(served, found: list[list[Hit]]) -> None:
    """`_batch_search` and `_passages2string` of its generation.py: {"result": [[{"document", "score"}]]}."""
    body = {"queries": QUERIES, "topk": 2, "return_scores": True}
    result = served.post("/retrieve", body).json()["result"]
    assert [[set(item) for item in hits] for hits in result] == [
        [{"document", "score"} for _ in hits] for hits in found
    ]
    for hits, wanted in zip(result, found, strict=True):
        for item, hit in zip(hits, wanted, strict=True):
            lines = item["document"]["contents"].split("\n")
            assert lines[0] == f'"{hit.title}"' or not hit.title
            assert item["document"]["contents"] == contents(hit)
            assert {key: item["document"][key] for key in ("id", "title", "text")} == {
                "id": hit.id, "title": hit.title, "text": hit.text
            }  # fmt: skip
            assert item["score"] == hit.score


@pytest.mark.parametrize("count", [1, 2, 3])
def test_search_r1_without_scores(served, found: list[list[Hit]], count: int) -> None:
    """Its own server fails here, or for two queries gives the first one's documents as the result."""
    for body in (
        {"queries": QUERIES[:count], "topk": 2},
        {"queries": QUERIES[:count], "topk": 2, "return_scores": False},
    ):
        result = served.post("/retrieve", body).json()["result"]
        assert [[item["contents"] for item in hits] for hits in result] == [
            [contents(hit) for hit in hits] for hits in found[:count]
        ]


def test_the_default_number(served, local: retrieval.Retriever) -> None:
    for topk in ({}, {"topk": None}, {"topk": 0}):
        result = served.post("/retrieve", {"queries": QUERIES[:1], **topk}).json()["result"]
        assert [item["id"] for item in result[0]] == [hit.id for hit in local.search(QUERIES[:1], 3)[0]]
    assert served.post("/retrieve", {"queries": []}).json() == {"result": []}


def test_skyrl_gym(served, found: list[list[Hit]]) -> None:
    """`call_search_api` of its tools/search.py sends one query, and reads the first list of the result."""
    for query, hits in zip(QUERIES, found, strict=True):
        result = served.post("/retrieve", {"query": query, "topk": 2, "return_scores": True}).json()["result"]
        assert [[(item["document"]["contents"], item["score"]) for item in one] for one in result] == [
            [(contents(hit), hit.score) for hit in hits]
        ]


@pytest.mark.parametrize("scores", [True, False])
def test_gem(served, found: list[list[Hit]], scores: bool) -> None:
    """Its SearchTool posts msgpack without a content type: "query" and a flat result, earlier "queries" and lists."""

    def ask(body: dict[str, object]) -> object:
        packed = msgpack.packb({**body, "topk": 2, "return_scores": scores})
        response = httpx.post(f"{served.url}/retrieve", content=packed, timeout=60, trust_env=False)
        response.raise_for_status()
        return msgpack.unpackb(response.content)["result"]

    wanted = [[(contents(hit), hit.score if scores else None) for hit in hits] for hits in found]

    def read(items: object) -> object:
        assert isinstance(items, list)
        return [(item["document"]["contents"], item["score"]) for item in items]

    assert read(ask({"query": QUERIES[0]})) == wanted[0]
    assert [read(items) for items in ask({"queries": QUERIES})] == wanted  # type: ignore[attr-defined]


def test_r1_searcher(served, found: list[list[Hit]]) -> None:
    """Its actors post {"queries", "k"} and strip a number and what is blank from the front of each line."""
    answer = served.post("/queries", {"queries": QUERIES, "k": 2}).json()
    assert answer["queries"] == QUERIES
    for lines, hits in zip(answer["answers"], found, strict=True):
        for line, hit in zip(lines, hits, strict=True):
            assert re.match(r"\d+\t", line)
            assert "\n" not in line
            assert re.sub(r"^\d+\s+", "", line) == " ".join(contents(hit).split())


def test_asearcher(served, found: list[list[Hit]]) -> None:
    """It reads `contents` and `url` of documents without scores, and asks for pages by their urls."""
    body = {"queries": QUERIES, "topk": 2, "return_scores": False}
    result = served.post("/retrieve", body).json()["result"]
    urls = [document["url"] for documents in result for document in documents]
    assert urls == [hit.id for hits in found for hit in hits]
    pages = served.post("/access", {"urls": [*urls, "no such page"]}).json()["result"]
    assert pages[-1] is None
    assert [page["contents"] for page in pages[:-1]] == [contents(hit) for hits in found for hit in hits]


@pytest.mark.parametrize("dialect", ["search-r1", "skyrl", "gem", "r1-searcher", "asearcher"])
async def test_our_client_in_every_dialect(served, local: retrieval.Retriever, dialect: str) -> None:
    queries = [*QUERIES, "", "ünïcödé 😀 中文 \ud800"]
    wanted = local.search(queries, 3)
    with retrieval.open(f"{served.url}#{dialect}", max_queries=2) as client:
        found = client.search(queries, 3)
        assert found == await client.asearch(queries, 3)
        assert (client.size, client.fingerprint) == (local.size, local.fingerprint)
        known = [hit.id for hit in wanted[0]]
        assert client.fetch([*known, "no such"]) == local.fetch([*known, "no such"])
    if dialect == "r1-searcher":  # lines have numbers for ids, and one blank between words
        texts = [[" ".join(contents(hit).split()) for hit in hits] for hits in wanted]
        assert [[hit.text for hit in hits] for hits in found] == texts
        return
    assert [[(hit.id, hit.title, hit.text) for hit in hits] for hits in found] == [
        [(hit.id, hit.title, hit.text) for hit in hits] for hits in wanted
    ]
    if dialect != "asearcher":  # has no scores
        assert found == wanted


def test_answers_are_json_of_utf8(served) -> None:
    response = served.post("/retrieve", {"queries": ["novel"], "topk": 10})
    assert response.headers["content-type"] == "application/json"
    json.loads(response.content.decode("utf-8"))
