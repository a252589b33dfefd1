"""Where a browser of the live web may go: hosts by a list, addresses by what they are, decided when it connects.

A name is resolved once, every answer is judged, and the connection goes to an address that was judged: an answer that
changes later (DNS rebinding) changes nothing. The rules for addresses are those of the IANA's special-purpose
registries, read strictly: what is not plainly a public unicast address is refused.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from toolenvs.errors import ConfigError
from toolenvs.web.faults import Fault
from toolenvs.web.urls import IPAddress, Url

_V4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by carriers",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "a cloud's own services",
    "169.254.0.0/16": "link-local, where clouds keep their metadata",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "for documentation",
    "192.31.196.0/24": "reserved for AS112",
    "192.52.193.0/24": "reserved for AMT",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "private",
    "192.175.48.0/24": "reserved for AS112",
    "198.18.0.0/15": "for benchmarks",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_V6_PUBLIC = IPv6Network("2000::/3")
_V6 = {
    "2001::/23": "reserved for protocols, Teredo among them",
    "2001:db8::/32": "for documentation",
    "2620:4f:8000::/48": "reserved for AS112",
    "3fff::/20": "for documentation",
}
_SPECIAL_V4 = [(IPv4Network(network), told) for network, told in _V4.items()]
_SPECIAL_V6 = [(IPv6Network(network), told) for network, told in _V6.items()]
_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_SLASHES = re.compile("/+")
_LOCAL_SUFFIXES = (
    "localhost", "local", "localdomain", "localnet", "internal", "intranet", "private", "corp", "home", "lan",
    "home.arpa", "onion", "alt", "test", "invalid", "example", "metadata.goog",
)  # fmt: skip


def refusal(address: IPAddress) -> str | None:
    """Why an address is not connected to; None for a public one.

    An IPv6 address that carries an IPv4 one (mapped, translated, compatible, NAT64, 6to4) is judged by that.
    """
    if isinstance(address, IPv4Address):
        return next((told for network, told in _SPECIAL_V4 if address in network), None)
    if address.scope_id is not None:
        return "of one link only"
    inner = _carried(address)
    if inner is not None:
        told = refusal(inner)
        return told and f"{told}: it carries {inner}"
    if address not in _V6_PUBLIC:
        return "not public"
    if int(address) >> 32 & 0xFDFFFFFF == 0x5EFE:  # ISATAP: the last 32 bits are an IPv4 address
        return refusal(IPv4Address(int(address) & 0xFFFFFFFF))
    return next((told for network, told in _SPECIAL_V6 if address in network), None)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for; `::` and `::1` are the unspecified and the loopback one."""
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    if any(address in network for network in (_MAPPED, _TRANSLATED, _COMPATIBLE, _NAT64)):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a browser of the live web may open. Nothing, unless `allow` names it."""

    allow: tuple[str, ...] = ()
    """Hosts: "docs.python.org", "*.python.org" for all below it, "*" for every public one; with a path
    ("host/path"), only what begins so. Redirects are held to them too."""
    deny: tuple[str, ...] = ()
    """The same, never opened though allowed: where the answers of a benchmark are published."""
    ports: frozenset[int] = frozenset({80, 443})
    """Ports that are connected to."""
    endpoints: frozenset[tuple[str, int]] = frozenset()
    """Addresses with a port that are connected to in spite of what they are: a test's own server on 127.0.0.1."""

    def __post_init__(self) -> None:
        for name in ("allow", "deny"):
            for pattern in getattr(self, name):
                if not isinstance(pattern, str) or not pattern or "://" in pattern or pattern != pattern.strip():
                    told = f"web: {name} holds {pattern!r}: write a host, '*.host' or 'host/path', without a scheme"
                    raise ConfigError(told)
        hosts = tuple(host.lower() + slash + path for host, slash, path in (p.partition("/") for p in self.allow))
        object.__setattr__(self, "allow", hosts)
        object.__setattr__(self, "deny", tuple(pattern.lower() for pattern in self.deny))

    def check(self, url: Url) -> None:
        """That an address may be asked for; the connection itself is judged again.

        Raises:
            Fault: blocked; the message says by which rule.
        """
        address = url.address
        told = None
        if url.port not in self.ports and not any(port == url.port for _, port in self.endpoints):
            told = f"port {url.port} is not opened: use 80 or 443"
        elif address is not None:
            told = self._refused(address, url.port)
        elif _is_local(url.host) and not self.endpoints:
            told = f"{url.host!r} is a name of a local network, which is not opened: open a public site"
        if told is None and _listed(url.host, _SLASHES.sub("/", _path(url)).lower(), self.deny):
            told = f"{url.host}{_path(url)} is on the list of what is not opened in this task: use another source"
        if told is None and not _listed(url.host, _path(url), self.allow):
            told = f"{url.host} is not on the list of hosts that are opened here: open one of {_shown(self.allow)}"
        if told is not None:
            raise Fault("blocked", told, url=url.text)

    def connect(self, host: str, port: int, addresses: Iterable[str]) -> list[str]:
        """The addresses that a connection to `host` may go to: all that its name gave, or none.

        Raises:
            Fault: blocked, one of them is refused; not_found, there is none.
        """
        kept: list[str] = []
        for text in addresses:
            try:
                address = ipaddress.ip_address(text)
            except ValueError:
                raise Fault("blocked", f"{host} has an address that cannot be read: open another site") from None
            told = self._refused(address, port)
            if told is not None:
                raise Fault("blocked", told if host == str(address) else f"{host} leads to {told}")
            if str(address) not in kept:
                kept.append(str(address))
        if not kept:
            raise Fault("not_found", f"the name {host} has no address: check its spelling")
        return kept

    def _refused(self, address: IPAddress, port: int) -> str | None:
        if (str(address), port) in self.endpoints:
            return None
        if port not in self.ports:
            return f"port {port} is not opened: use 80 or 443"
        told = refusal(address)
        return told and f"the address {address}, which is not public ({told}): open a public site"


def _listed(host: str, path: str, patterns: tuple[str, ...]) -> bool:
    for pattern in patterns:
        name, slash, top = pattern.partition("/")
        if slash and not _is_below(path, "/" + top):
            continue
        if name == "*" or host == name or (name[:2] == "*." and host.endswith(name[1:])):
            return True
    return False


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top if top.endswith("/") else top + "/")


def _path(url: Url) -> str:
    return url.target.partition("?")[0]


def _is_local(host: str) -> bool:
    return "." not in host or any(host == suffix or host.endswith("." + suffix) for suffix in _LOCAL_SUFFIXES)


def _shown(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns[:8]) + (", ..." if len(patterns) > 8 else "") if patterns else "none"
