"""GEM: msgpack both ways, one query a request, its result without a list around it."""

import msgpack

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.http import documents

PATH = "/retrieve"
CONTENT_TYPE = "application/msgpack"
SINGLE = True


def request(queries: list[str], k: int) -> bytes:
    """The body for a single query."""
    body = {"query": queries[0], "topk": k, "return_scores": True}
    return bytes(msgpack.packb(body, unicode_errors="replace"))


def parse(answer: bytes) -> list[list[Hit]]:
    """The hits of {"result": [{"document", "score"}, ...]}."""
    try:
        told = msgpack.unpackb(answer, unicode_errors="replace")
    except msgpack.UnpackException as error:
        raise ValueError(f"no msgpack: {error}") from error
    return [documents.scored(told["result"])]
