"""R1-Searcher: lines of a table, at a path of its own.

    {"queries": ["..."], "k": 3} -> {"queries": ["..."], "answers": [["12\\t...", ...]]}

Its client drops the number and the blank after it from each line, and shows the rest.
"""

import json

from toolenvs.retrieval import Hit
from toolenvs.retrieval.corpus import Passage
from toolenvs.serve.fields import Fields
from toolenvs.serve.search.dialects import asked
from toolenvs.serve.search.settings import Settings


def read(fields: Fields, settings: Settings) -> asked.Asked:
    """What the body asks.

    Raises:
        Refused: it cannot be carried out.
    """
    k = asked.topk(fields, "k", settings)
    return asked.checked(fields, asked.Asked(asked.queries(fields, settings), k), settings)


def write(wanted: asked.Asked, found: list[list[Hit]]) -> bytes:
    """The answer."""
    answers = [[_line(rank, hit) for rank, hit in enumerate(hits, start=1)] for hits in found]
    return json.dumps({"queries": wanted.queries, "answers": answers}).encode()


def _line(rank: int, hit: Hit) -> str:
    """A passage on one line, behind its id, or its rank where the id is no number: a number is there to be dropped."""
    number = hit.id if hit.id.isascii() and hit.id.isdigit() else str(rank)
    return f"{number}\t{' '.join(Passage(hit.id, hit.title, hit.text).contents.split())}"
