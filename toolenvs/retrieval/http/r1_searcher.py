"""R1-Searcher: lines of a table, each a number, a blank and the passage; no scores, so ranks stand for them."""

import json
import re

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.http.dialects import json_of
from toolenvs.retrieval.http.documents import listed

PATH = "/queries"
CONTENT_TYPE = "application/json"
SINGLE = False
_LINE = re.compile(r"(\d+)\s+(.*)", re.DOTALL)


def request(queries: list[str], k: int) -> bytes:
    """The body."""
    return json.dumps({"queries": queries, "k": k}).encode()


def parse(answer: bytes) -> list[list[Hit]]:
    """The hits of {"answers": [["12\\t...", ...], ...]}; the number is the id, 1/rank the score."""
    lists = listed(json_of(answer)["answers"], "the answers")
    return [[_hit(rank, line) for rank, line in enumerate(listed(lines, "an answer"), start=1)] for lines in lists]


def _hit(rank: int, line: object) -> Hit:
    if not isinstance(line, str):
        raise TypeError(f"a line is {type(line).__name__}, not a string")
    read = _LINE.fullmatch(line.strip())
    if read is None or not read[2]:
        raise ValueError(f"a line is no number and a passage: {line!r:.80}")
    return Hit(read[1], 1 / rank, "", read[2])
