"""A passage out of the object that servers give under "document"."""

import hashlib
import sys
from typing import Any

from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.corpus import parse_passage

_MOST = sys.float_info.max


def hit(document: Any, score: Any) -> Hit:
    """A hit; a digest of the text stands for the id where the server tells none. A score of null counts as 0.

    Raises:
        ValueError: it has no text, or the score is no finite number.
        TypeError: it is no object.
    """
    if not isinstance(document, dict):
        raise TypeError(f"a document is {type(document).__name__}, not an object")
    if score is None:
        score = 0.0
    if isinstance(score, bool) or not isinstance(score, int | float) or not -_MOST <= score <= _MOST:
        raise ValueError(f"a score is {score!r:.40}")
    if document.get("id", document.get("_id")) in (None, ""):
        text = document.get("contents", document.get("text"))
        document = {**document, "id": hashlib.sha256(str(text).encode("utf-8", "replace")).hexdigest()[:16]}
    passage = parse_passage(document, "a document of the answer")
    return Hit(passage.id, float(score), passage.title, passage.text)


def listed(value: Any, what: str) -> list[Any]:
    """A list.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list):
        raise TypeError(f"{what} is {type(value).__name__}, not a list")
    return value


def scored(items: Any) -> list[Hit]:
    """The hits of one query's list of {"document", "score"}, in which Google's servers leave the score out.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    hits = []
    for item in listed(items, "the result of a query"):
        if not isinstance(item, dict):
            raise TypeError(f"a hit is {type(item).__name__}, not an object")
        hits.append(hit(item["document"], item.get("score")))
    return hits
