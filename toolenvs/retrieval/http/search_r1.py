"""Search-R1, and the servers made after it: verl, RL-Factory, PaperSearchQA, and `toolenvs serve search`."""

import json

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.http import documents
from toolenvs.retrieval.http.dialects import json_of

PATH = "/retrieve"
CONTENT_TYPE = "application/json"
SINGLE = False


def request(queries: list[str], k: int) -> bytes:
    """Asks for scores: without them Search-R1's own server fails, or answers wrongly."""
    return json.dumps({"queries": queries, "topk": k, "return_scores": True}).encode()


def parse(answer: bytes) -> list[list[Hit]]:
    """The hits of {"result": [[{"document", "score"}, ...], ...]}."""
    return [documents.scored(items) for items in documents.listed(json_of(answer)["result"], "the result")]
