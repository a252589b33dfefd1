"""What one action of a browser gave."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from toolenvs.web.document import Document, Link

Status = Literal[
    "ok",
    "bad_url",
    "blocked",
    "not_found",
    "http_status",
    "too_many_redirects",
    "timeout",
    "too_large",
    "unsupported_type",
    "decode",
    "needs_browser",
    "no_such_link",
    "no_such_line",
    "budget",
]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one action gave; whatever the page or the policy does, this and no exception is the answer."""

    status: Status = "ok"
    """ok, or why there is no page:

    bad_url: no address that is opened here (not http or https, a user's name, control characters, too long, ...);
    blocked: an address, port, host, method or path (robots.txt) that the rules of this browser do not allow;
    not_found: the site has no such page (404, 410, not recorded), or the name has no address;
    http_status: the server answered with another error, or with nothing that is HTTP; see `http_status`;
    too_many_redirects: a chain of more than the allowed hops, or a loop;
    timeout: no whole answer by the deadline;
    too_large: headers or a form larger than what is read or sent (a long body is cut instead: see `truncated`);
    unsupported_type: not HTML, text or JSON;
    decode: compressed in a way that was not asked for, or damaged;
    needs_browser: what only a real browser can do (scripts, keys, coordinates);
    no_such_link: no link or field with this number on the page, or it cannot be used so;
    no_such_line: no such line, page or step of the history;
    budget: the bytes or actions of this episode are used up.
    """
    text: str = ""
    """As a model reads it: the page's head and lines, the found lines, or one line with the error and what to do."""
    cursor: int | None = None
    """The number of the shown page, for good: what it showed then it shows for the rest of the episode. None where no
    page is shown."""
    document: "Document | None" = field(default=None, repr=False)
    """All of the shown page; None where no page is shown."""
    first_line: int = 0
    """Number of the first line in `text`, from 0, as `Document.lines` counts; 0 where no page is shown."""
    last_line: int = -1
    """Number of the last line in `text`, which may be cut; less than `first_line` where there is none."""
    hits: tuple[int, ...] = ()
    """After `find`: all lines that hold the text."""
    url: str = ""
    """The address of the page, after redirects; after an error the last one that was asked for."""
    http_status: int | None = None
    """The server's last status code; None where it gave none."""
    truncated: bool = False
    """Whether the page itself (not only `text`) was cut, by a limit or by a connection that ended early."""
    seconds: float = 0.0
    """Wall time of the action."""

    @property
    def links(self) -> "tuple[Link, ...]":
        """All links of the page, by number; () where no page is shown."""
        return () if self.document is None else tuple(self.document.links)

    @property
    def error(self) -> str | None:
        """The line that says what was wrong and what to do; None where status is ok."""
        return None if self.status == "ok" else self.text


def problem(status: Status, told: str, *, url: str = "", http_status: int | None = None, seconds: float = 0.0) -> Page:
    """A page that says why there is none.

    Args:
        status: not ok.
        told: one line: what was wrong; what to do.
        url: what was asked for.
        http_status: the server's code, where it gave one.
        seconds: wall time of the action.
    """
    return Page(status=status, text=f"Error ({status}): {told}", url=url, http_status=http_status, seconds=seconds)
