"""Search-R1, and verl, RL-Factory and PaperSearchQA, which ask as it does; ASearcher asks so without scores.

    {"queries": ["..."], "topk": 3, "return_scores": true} -> {"result": [[{"document": {...}, "score": 1.5}, ...]]}

Without scores the documents themselves stand in the lists. (Search-R1's own server fails then, with 500, or for two
queries answers wrongly.)
"""

from toolenvs.retrieval import Hit
from toolenvs.serve.fields import Fields
from toolenvs.serve.search.dialects import asked, documents
from toolenvs.serve.search.settings import Settings


def read(fields: Fields, settings: Settings) -> asked.Asked:
    """What the body asks.

    Raises:
        Refused: it cannot be carried out.
    """
    k = asked.topk(fields, "topk", settings)
    wanted = asked.Asked(asked.queries(fields, settings), k, fields.flag("return_scores"))
    return asked.checked(fields, wanted, settings)


def write(wanted: asked.Asked, found: list[list[Hit]]) -> bytes:
    """The answer."""
    shown = documents.scored if wanted.scores else documents.bare
    return documents.result([shown(hits) for hits in found])
