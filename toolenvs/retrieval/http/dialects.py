"""The dialects by name. Each is a module: what a request holds, and what its answer tells; to add one, add a file.

PATH            where it is posted to, unless the address says
CONTENT_TYPE    of the request
SINGLE          whether a request holds one query
request         the body that asks for `k` passages for each query
parse           the hits of an answer, a list for each query; KeyError, TypeError or ValueError where it is none
"""

import importlib
import json
from typing import Any, Protocol

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.retrieval.base import Hit

DIALECTS = {
    "search-r1": "search_r1",
    "skyrl": "skyrl",
    "gem": "gem",
    "r1-searcher": "r1_searcher",
    "asearcher": "asearcher",
}


class Dialect(Protocol):
    """What such a module has."""

    PATH: str
    CONTENT_TYPE: str
    SINGLE: bool

    def request(self, queries: list[str], k: int) -> bytes:
        """The body of a request."""

    def parse(self, answer: bytes) -> list[list[Hit]]:
        """The hits of an answer."""


def of(name: str) -> Dialect:
    """The dialect of that name; of "", Search-R1's.

    Raises:
        ConfigError: there is none.
        MissingExtraError: it needs a package that is not installed.
    """
    module = DIALECTS.get(name or "search-r1")
    if module is None:
        raise ConfigError(f"no dialect {name!r} of retrieval over HTTP; {did_you_mean(name, DIALECTS)}")
    dialect: Any = importlib.import_module(f"toolenvs.retrieval.http.{module}")
    return dialect  # type: ignore[no-any-return]


def json_of(answer: bytes) -> Any:
    """What JSON holds.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(answer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
