"""GEM: msgpack both ways, without a content type.

    {"query": "...", "topk": 3, "return_scores": true} -> {"result": [{"document": {...}, "score": 1.5}, ...]}

The score is null where none is asked for. Earlier versions of GEM send "queries" and read a list for each.
"""

from typing import Any

import msgpack

from toolenvs.retrieval import Hit
from toolenvs.retrieval.corpus import Passage
from toolenvs.serve.fields import Fields
from toolenvs.serve.http import Refused
from toolenvs.serve.search.dialects import asked
from toolenvs.serve.search.settings import Settings

CONTENT_TYPE = "application/msgpack"
CONTENT_TYPES = (CONTENT_TYPE, "application/x-msgpack", "application/vnd.msgpack")


def is_map(body: bytes) -> bool:
    """Whether a body that declares nothing is a msgpack map; no JSON text begins with such a byte."""
    return bool(body) and (0x80 <= body[0] <= 0x8F or body[0] in (0xDE, 0xDF))


def parse(body: bytes) -> object:
    """What a body holds.

    Raises:
        Refused: 400, it is no msgpack.
    """
    try:
        return msgpack.unpackb(body, unicode_errors="replace", strict_map_key=False)
    except (ValueError, msgpack.UnpackException, RecursionError, TypeError) as error:
        raise Refused(400, f"the body is no msgpack: {str(error) or type(error).__name__}") from None


def read(fields: Fields, settings: Settings) -> asked.Asked:
    """What the body asks.

    Raises:
        Refused: it cannot be carried out.
    """
    k = asked.topk(fields, "topk", settings)
    queries = asked.queries(fields, settings) if fields.has("queries") else [fields.text("query")]
    return asked.checked(fields, asked.Asked(queries, k, fields.flag("return_scores")), settings)


def write(wanted: asked.Asked, found: list[list[Hit]], *, flat: bool) -> bytes:
    """The answer; `flat`: to one "query"."""
    lists = [[_shown(hit, wanted.scores) for hit in hits] for hits in found]
    packed = msgpack.packb({"result": lists[0] if flat else lists}, unicode_errors="replace")
    return bytes(packed)


def _shown(hit: Hit, scores: bool) -> dict[str, Any]:
    contents = Passage(hit.id, hit.title, hit.text).contents
    document = {"id": hit.id, "title": hit.title, "text": hit.text, "contents": contents}
    return {"document": document, "score": hit.score if scores else None}
