"""Addresses of links, made absolute."""

import re
from urllib.parse import urljoin

_PLAIN = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9_\-.~%+,=/]*(?:\?[A-Za-z0-9_\-.~%+,=/&;]*)?(?:#[^\s#]*)?")
"""Relative addresses that are only put behind their folder, unless a part of the path is a dot segment."""
_BELOW = re.compile(
    r"[A-Za-z0-9_~][A-Za-z0-9_\-.~%+,=]*+(?:/[A-Za-z0-9_\-~%+,=][A-Za-z0-9_\-.~%+,=]*+)*+/?+"
    r"(?:\?[A-Za-z0-9_\-.~%+,=/&;]*+)?+(?:#[^\s#]*+)?+"
)
"""Those among them without a dot segment and without an empty one, as most links are."""
_ABSOLUTE = re.compile(
    r"https?://[a-z0-9.-]++(?:/(?!\.{1,2}(?:[/?#]|$))[A-Za-z0-9_\-.~%+,=]*+)++(?:\?[^\s#]*+)?+(?:#\S*+)?+"
)
"""Addresses that are absolute already."""
_DOTS = re.compile(r"(?:^|/)\.{1,2}(?:$|[/?#])|//")
_SPACES = re.compile(r"[\t\n\r]")


class Joiner:
    """Resolves the addresses of one page.

    Args:
        url: of the page.
    """

    def __init__(self, url: str) -> None:
        self.page = url.partition("#")[0]
        self._based = False
        self._set(url)
        self._known: dict[str, str | None] = {}

    def _set(self, url: str) -> None:
        self.base = url.partition("#")[0]
        path = self.base.partition("?")[0]
        folder, root = path.rfind("/") + 1, path.find("://") + 3
        self._folders: list[str] = []
        """The page's folder, the one above it, and so on up to the root."""
        while folder > root:
            self._folders.append(path[:folder])
            folder = path.rfind("/", 0, folder - 1) + 1
        if _DOTS.search(path[root:]):
            self._folders.clear()

    def rebase(self, href: str) -> None:
        """Take the page's own base, the first time only."""
        if not self._based and (url := self(href)):
            self._based = True
            self._set(url)
            self._known.clear()

    def __call__(self, href: str) -> str | None:
        """The absolute address; None where it is neither http nor https, or no address."""
        if href in self._known:
            return self._known[href]
        url = self._known[href] = self._joined(href)
        return url

    def _joined(self, href: str) -> str | None:
        if href[:1] == "#" and " " not in href and "\n" not in href:
            return self.base + href
        if self._folders and _BELOW.fullmatch(href):
            return self._folders[0] + href
        if href[:4] == "http" and len(href) < 2_000 and _ABSOLUTE.fullmatch(href):
            return href
        href = href.strip(" \t\n\r\f")
        up, rest = 0, href
        while rest.startswith("../") and up < len(self._folders) - 1:
            up, rest = up + 1, rest[3:]
        if self._folders and _PLAIN.fullmatch(rest) and not _DOTS.search(rest):
            return self._folders[up] + rest
        if href[:1] == "#":
            url = self.base + href
        else:
            href = _SPACES.sub("", href)
            try:
                url = urljoin(self.base, href) if href else self.base
            except ValueError:
                return None
        return url if url[:8].lower().startswith(("http://", "https://")) and len(url) > 8 else None
