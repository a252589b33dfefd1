"""Addresses in one canonical form, or refused: what is checked, what is asked for and what is shown is the same text.

The form: http or https, a host in lower-case ASCII (IDNA after NFKC, both once), numbers that `inet_aton` reads as an
IPv4 address written as one, no default port, no user, percent-escapes only where needed, no dot segments. Two parsers
besides this one (`urllib.parse.urlsplit` and `httpx.URL`) read both the given text and the form; an address in which
one of them sees another host or port is refused (RFC 3986, UTS 46, and the reading of numbers of the WHATWG's URL).
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from toolenvs.errors import MissingExtraError
from toolenvs.web.faults import Fault

MAX_CHARS = 2_048
"""Of an address; a longer one is refused."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_PATH = "/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@"
_UNRESERVED = frozenset(_PATH[1:67])
_IN_PATH = frozenset(_PATH)
_IN_QUERY = frozenset(_PATH + "?")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Url:
    """An address in canonical form."""

    text: str
    """Without the fragment: what is asked for, and a store's key."""
    scheme: str
    """ "http" or "https"."""
    host: str
    """Lower-case ASCII; an IPv6 address without its brackets."""
    port: int
    """The scheme's own where the address names none."""
    target: str
    """Path and query, from "/"."""
    fragment: str
    """Decoded, without "#"; "" where there is none."""

    @property
    def address(self) -> IPAddress | None:
        """The host as an address; None where it is a name."""
        return literal(self.host)

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port


def canonical(text: str, base: str = "") -> Url:
    """The canonical form of an address.

    Args:
        text: absolute; relative only where there is a base.
        base: the address of the page that `text` stands on, in canonical form.

    Raises:
        Fault: bad_url; the message says what is wrong and what to do.
    """
    if not isinstance(text, str):
        raise Fault("bad_url", "an address is a text: write it as https://host/path")
    text = text.strip(" \t\r\n")
    if len(text) > MAX_CHARS:
        raise Fault("bad_url", f"the address has {len(text):,} characters, at most {MAX_CHARS:,} are read: shorten it")
    return _canonical(text, base)


@lru_cache(8_192)
def _canonical(text: str, base: str) -> Url:
    for character in text:
        if character == "\\" or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            raise Fault("bad_url", f"the address holds the character {character!a}: leave it out")
    if base and not _SCHEME.match(text):
        text = urljoin(base, text)
    found = _PARTS.fullmatch(text)
    if found is None:
        raise Fault("bad_url", f"{text!r:.200} is no whole address: write it as https://host/path")
    scheme, authority, path, query, fragment = found.groups()
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise Fault("bad_url", f"addresses that begin with {scheme + ':'!r:.40} are not opened: use http or https")
    if not authority:
        raise Fault("bad_url", f"{text!r:.200} names no host: write it as {scheme}://host/path")
    if "@" in authority:
        raise Fault("bad_url", "the address holds a user's name or an '@' before the host: leave it out")
    parted = _AUTHORITY.fullmatch(authority)
    if parted is None:
        raise Fault("bad_url", f"the host or port {authority!r:.100} cannot be read: write it as host or host:port")
    host, port = _host(parted[1]), int(parted[2] or _DEFAULT_PORTS[scheme])
    if not 0 < port < 65_536:
        raise Fault("bad_url", f"there is no port {port}: leave it out")
    target = _path(path)
    if query is not None:
        target += "?" + _escaped(query, _IN_QUERY)
    shown = f"[{host}]" if ":" in host else host
    form = f"{scheme}://{shown}" + (f":{port}" if port != _DEFAULT_PORTS[scheme] else "") + target
    for written in (text, form):
        _agree(written, host, port)
    if len(form) > MAX_CHARS:
        raise Fault("bad_url", f"the address has more than {MAX_CHARS:,} characters when escaped: shorten it")
    return Url(form, scheme, host, port, target, unquote(fragment or ""))


def literal(host: str) -> IPAddress | None:
    """An address that a canonical host is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _host(host: str) -> str:
    """The canonical form of a host."""
    if host.startswith("["):
        try:
            address = ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise Fault("bad_url", f"{host!r:.100} is no IPv6 address: check it") from None
        if address.scope_id is not None:
            raise Fault("bad_url", f"the IPv6 address {host!r:.100} names a zone: leave that out")
        return address.compressed
    if "%" in host:
        raise Fault("bad_url", f"the host {host!r:.100} holds a percent sign: write the character itself")
    name = unicodedata.normalize("NFKC", host).lower()
    if not name.isascii():
        idna = _package("idna")
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise Fault("bad_url", f"{host!r:.100} is no name of a host: check it") from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels, host)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise Fault("bad_url", f"{host!r:.100} is no name of a host: check it")
    for label in labels:
        if label.startswith("xn--"):
            idna = _package("idna")
            try:
                idna.decode(label)
            except (idna.IDNAError, UnicodeError):
                raise Fault("bad_url", f"{host!r:.100} holds a wrong international label: check it") from None
    return name


def _ipv4(labels: list[str], host: str) -> str:
    """A host whose last label is a number, read as `inet_aton` does: octal and hexadecimal, and fewer than 4 parts."""
    numbers = []
    for label in labels:
        base = 16 if label.startswith("0x") else 8 if label.startswith("0") and label != "0" else 10
        try:
            numbers.append(int(label.removeprefix("0x") or "0", base) if _NUMBER.fullmatch(label) else -1)
        except ValueError:
            numbers.append(-1)
    last = numbers.pop() if len(numbers) <= 4 else -1
    if not 0 <= last < 256 ** (4 - len(numbers)) or any(not 0 <= number < 256 for number in numbers):
        raise Fault("bad_url", f"{host!r:.100} is neither a name nor an IPv4 address: check it")
    value = last
    for place, number in enumerate(numbers):
        value += number << (8 * (3 - place))
    return str(ipaddress.IPv4Address(value))


def _escaped(text: str, plain: frozenset[str]) -> str:
    """`text` with escapes for all that is not `plain`, and with none for what needs none."""
    parts, start = [], 0
    for escape in _ESCAPE.finditer(text):
        parts.append(_quoted(text[start : escape.start()], plain))
        character = chr(int(escape[1], 16))
        parts.append(character if character in _UNRESERVED else escape[0].upper())
        start = escape.end()
    parts.append(_quoted(text[start:], plain))
    return "".join(parts)


def _quoted(text: str, plain: frozenset[str]) -> str:
    return "".join(
        character if character in plain else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


def _path(path: str) -> str:
    """An escaped path without dot segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = _escaped(path, _IN_PATH).split("/")[1:] or [""]
    for place, segment in enumerate(segments):
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
            continue
        if place == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def _agree(text: str, host: str, port: int) -> None:
    """That two other parsers see this host and port in `text`.

    Raises:
        Fault: bad_url, they do not.
    """
    httpx = _package("httpx")
    try:
        split = urlsplit(text)
        other = httpx.URL(text)
        seen = [(split.scheme, split.hostname or "", split.port), (other.scheme, other.raw_host.decode(), other.port)]
        for scheme, name, number in seen:
            same = _host(f"[{name}]" if ":" in name else name) == host
            if not same or (number or _DEFAULT_PORTS[scheme]) != port:
                raise ValueError(name)
    except (ValueError, KeyError, httpx.InvalidURL):
        raise Fault("bad_url", f"programs read different hosts in {text!r:.200}: write it plainly") from None


def _package(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise MissingExtraError(name, "web", "reading web addresses") from error
