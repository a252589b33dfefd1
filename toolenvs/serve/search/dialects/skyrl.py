"""SkyRL-Gym: one query a request.

{"query": "...", "topk": 3, "return_scores": true} -> {"result": [[{"document": {...}, "score": 1.5}, ...]]}
"""

from toolenvs.retrieval import Hit
from toolenvs.serve.fields import Fields
from toolenvs.serve.search.dialects import asked, search_r1
from toolenvs.serve.search.settings import Settings


def read(fields: Fields, settings: Settings) -> asked.Asked:
    """What the body asks.

    Raises:
        Refused: it cannot be carried out.
    """
    k = asked.topk(fields, "topk", settings)
    wanted = asked.Asked([fields.text("query")], k, fields.flag("return_scores"))
    return asked.checked(fields, wanted, settings)


def write(wanted: asked.Asked, found: list[list[Hit]]) -> bytes:
    """The answer."""
    return search_r1.write(wanted, found)
