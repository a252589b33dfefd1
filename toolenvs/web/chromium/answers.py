"""What a page's requests become, and what of the answers Chromium is given."""

from typing import TYPE_CHECKING

from toolenvs.web.content_types import shown_as
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetched, Request
from toolenvs.web.render.charset import decode
from toolenvs.web.urls import canonical

if TYPE_CHECKING:
    from playwright.async_api import Request as Asked

_HTML = ("text/html", "application/xhtml+xml")
_NOT_HANDED_ON = {
    "alt-svc", "clear-site-data", "connection", "content-disposition", "content-encoding", "content-length",
    "content-type", "keep-alive", "link", "nel", "refresh", "report-to", "reporting-endpoints", "set-cookie",
    "strict-transport-security", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that are about the transfer, or that would have Chromium ask for something by itself."""


class NotHtml(Exception):
    """A navigation led to text or data, which need no browser."""

    def __init__(self, fetched: Fetched) -> None:
        super().__init__(fetched.url.text)
        self.fetched = fetched


def is_html(fetched: Fetched) -> bool:
    """Whether a page is HTML.

    Raises:
        Fault: unsupported_type.
    """
    try:
        kind = shown_as(fetched.content_type, fetched.body)
    except Fault as fault:
        fault.url, fault.http_status = fetched.url.text, fetched.http_status
        raise
    return kind.partition(";")[0].strip().lower() in _HTML


def handed_on(fetched: Fetched) -> dict[str, str]:
    """The headers that Chromium may see."""
    return {name: value for name, value in fetched.headers if name.lower() not in _NOT_HANDED_ON}


def declared(fetched: Fetched) -> str:
    """The content type that the server names, without its parameters."""
    return fetched.content_type.partition(";")[0].strip().lower()


def text_of(fetched: Fetched) -> str:
    """The body, decoded as a reader without scripts does."""
    return decode(fetched.body, fetched.content_type)[0].encode("utf-8", "replace").decode()


def request_of(asked: "Asked") -> Request:
    """What a page asks for.

    Raises:
        Fault: bad_url, or a method that is not sent.
    """
    url = canonical(asked.url)
    if asked.method == "GET":
        return Request(url)
    if asked.method != "POST":
        raise Fault("blocked", f"requests of the kind {asked.method:.20} are not sent", url=url.text)
    return Request(url, "POST", asked.post_data_buffer or b"", asked.headers.get("content-type", ""))
