"""Addresses of servers, as people give them."""

from urllib.parse import urlsplit

from toolenvs.errors import ConfigError


def http(url: str, what: str, port: int) -> str:
    """An address of HTTP, without slashes at its end.

    Args:
        url: such as "http://127.0.0.1:8080".
        what: it is of, for the message: "sandbox: url".
        port: that is usual there, for the message.

    Raises:
        ConfigError: it is none.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:  # a port beyond 65535, or half of a bracket
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ConfigError(f"{what} = {url!r:.200} is no address: give one such as 'http://127.0.0.1:{port}'")
    return (parts.scheme + url[len(parts.scheme) :]).rstrip("/")
