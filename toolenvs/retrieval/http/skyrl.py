"""SkyRL-Gym: one query a request, its result in a list of one."""

import json

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.http import search_r1

PATH = "/retrieve"
CONTENT_TYPE = "application/json"
SINGLE = True


def request(queries: list[str], k: int) -> bytes:
    """The body for a single query."""
    return json.dumps({"query": queries[0], "topk": k, "return_scores": True}).encode()


def parse(answer: bytes) -> list[list[Hit]]:
    """The hits of {"result": [[{"document", "score"}, ...]]}."""
    return search_r1.parse(answer)
