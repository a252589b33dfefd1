"""What one episode of browsing may use."""

from dataclasses import dataclass
from typing import ClassVar

from toolenvs.limits import NumericLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(NumericLimits):
    """What one episode of browsing may use."""

    room: ClassVar[str] = "web"
    least: ClassVar[float] = 1e-9
    may_be_zero: ClassVar[tuple[str, ...]] = ("pace_s", "max_redirects")

    timeout_s: float = 10.0
    """Wall-clock deadline of an action, redirects included; waiting for the pace does not count."""
    max_body_bytes: int = 2_000_000
    """Kept of one page, decompressed, and read of it from the wire; the rest is cut, and the page says so."""
    max_redirects: int = 5
    """Hops that an action follows."""
    max_total_bytes: int = 64_000_000
    """Bytes that an episode may load from the network or an application. What a store holds costs nothing."""
    max_pages: int = 10_000
    """Pages, and states of pages, that an episode may keep: each has its cursor for good."""
    max_view_chars: int = 8_000
    """Characters of the lines that one view shows; tokens, where the browser was given a count of tokens."""
    max_hits: int = 50
    """Found lines that are shown; all are counted."""
    max_hit_chars: int = 240
    """Characters shown of one found line."""
    max_results: int = 10
    """Pages that a search lists."""
    max_form_bytes: int = 65_536
    """Of the fields that a form sends, encoded."""
    pace_s: float = 1.0
    """Live web: least time between two requests of an episode to one host; robots.txt may ask for more."""
