"""ASearcher: documents without scores, so ranks stand for them, and pages by their urls."""

import json

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.http import documents
from toolenvs.retrieval.http.dialects import json_of

PATH = "/retrieve"
PAGES_PATH = "/access"
CONTENT_TYPE = "application/json"
SINGLE = False


def request(queries: list[str], k: int) -> bytes:
    """The body."""
    return json.dumps({"queries": queries, "topk": k, "return_scores": False}).encode()


def parse(answer: bytes) -> list[list[Hit]]:
    """The hits of {"result": [[{"contents", "url"}, ...], ...]}; the url is the id, 1/rank the score."""
    lists = documents.listed(json_of(answer)["result"], "the result")
    return [
        [_hit(document, 1 / rank) for rank, document in enumerate(documents.listed(items, "the result of a query"), 1)]
        for items in lists
    ]


def pages_request(urls: list[str]) -> bytes:
    """The body that asks for pages."""
    return json.dumps({"urls": urls}).encode()


def parse_pages(answer: bytes, urls: list[str]) -> list[Hit | None]:
    """The pages of {"result": [{"contents"}, null, ...]}, one for each url.

    Raises:
        KeyError, TypeError, ValueError: it is no such answer.
    """
    pages = documents.listed(json_of(answer)["result"], "the result")
    if len(pages) != len(urls):
        raise ValueError(f"{len(pages)} pages for {len(urls)} urls")
    return [None if page is None else _hit(page, 0.0, url) for page, url in zip(pages, urls, strict=True)]


def _hit(document: object, score: float, url: str = "") -> Hit:
    if isinstance(document, dict) and "id" not in document:
        document = {**document, "id": document.get("url") or url}
    return documents.hit(document, score)
