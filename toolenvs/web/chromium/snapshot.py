"""A page of Chromium at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolenvs.web.fetch import Fetched


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A page as it is at one moment."""

    html: str
    url: str
    content_type: str
    complete: bool
    """False where it was still loading, or longer than what is read."""
    fetched: Fetched | None
    """What its last navigation was answered with."""

    @classmethod
    def of(cls, seen: Mapping[str, Any], complete: bool, fetched: Fetched | None) -> "Snapshot":
        """From what the script in the page reads."""
        return cls(seen["html"], seen["url"], seen["type"], complete and not seen["cut"], fetched)
