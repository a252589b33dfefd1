"""What a request asks, in whatever dialect, and the limits that hold for all."""

from dataclasses import dataclass

from toolenvs.serve.fields import Fields
from toolenvs.serve.http import Refused
from toolenvs.serve.search.settings import Settings


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that can be carried out."""

    queries: list[str]
    k: int
    """Passages for each."""
    scores: bool = True
    """Whether scores are wanted with them."""


def topk(fields: Fields, name: str, settings: Settings) -> int:
    """How many passages are wanted: null, 0 and nothing ask for the server's default."""
    hint = " (start the server with a larger --max-topk)"
    return fields.whole(name, 0, least=0, most=settings.max_topk, hint=hint) or settings.topk


def queries(fields: Fields, settings: Settings) -> list[str]:
    """The list under "queries"."""
    hint = " (split the request, or start the server with a larger --max-queries)"
    return fields.texts("queries", most=settings.max_queries, hint=hint)


def checked(fields: Fields, asked: Asked, settings: Settings) -> Asked:
    """The same, if nothing was wrong.

    Raises:
        Refused: 422, a field is wrong; 413, a query is too long.
    """
    fields.check()
    most = settings.max_query_chars
    for number, query in enumerate(asked.queries):
        if len(query) > most:
            raise Refused(413, f"query {number} is longer than the {most} characters that this server takes")
    return asked
