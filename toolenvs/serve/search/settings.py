"""What one search server allows."""

from dataclasses import dataclass, field

from toolenvs.errors import ConfigError
from toolenvs.serve.numbers import check_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The limits of a search server; see `toolenvs serve search --help`.

    Raises:
        ConfigError: a limit is no positive number, or two do not fit each other.
    """

    token: str = field(default="", repr=False)
    """Clients must send it as a bearer token; "": none."""
    topk: int = 3
    """Passages for a query whose request names no number."""
    max_topk: int = 1000
    """The most that a request may ask for."""
    max_queries: int = 4096
    """Of one request."""
    max_query_chars: int = 16_384
    """Of one query."""
    max_batch: int = 16
    """Queries that are searched together."""
    threads: int = 0
    """Batches that are searched at one time; 0: as many as the retriever gains by."""
    max_queued: int = 16_384
    """Queries that wait; requests with further ones are answered 429."""
    max_per_client: int = 8192
    """Queries of one address, waiting and being searched."""
    queue_s: float = 30.0
    """How long a query may wait."""
    cache: int = 4096
    """Queries whose results are kept; 0: none."""
    max_body_bytes: int = 16 << 20
    """Of one request."""
    body_s: float = 30.0
    """How long one request's head, and then its body, may take to arrive."""

    def __post_init__(self) -> None:
        check_numbers(self, "search server", or_zero=("threads", "cache"))
        for lower, upper in (("topk", "max_topk"), ("max_queries", "max_per_client"), ("max_per_client", "max_queued")):
            if getattr(self, lower) > getattr(self, upper):
                raise ConfigError(
                    f"search server: {lower} = {getattr(self, lower)} is above {upper} = {getattr(self, upper)}"
                )
