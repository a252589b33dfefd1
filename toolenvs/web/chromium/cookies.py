"""Cookies that a server sets, given to Chromium; the answer that set them may be a redirect, which it never sees."""

import contextlib
import time
from email.utils import parsedate_to_datetime
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Literal

from toolenvs.web.urls import canonical

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_SAME_SITE: dict[str, Literal["Strict", "Lax", "None"]] = {"strict": "Strict", "lax": "Lax", "none": "None"}


async def set_cookie(context: "BrowserContext", address: str, header: str) -> None:
    """Do what the value of a `Set-Cookie` header asks for; what is malformed or for another host is passed over."""
    from playwright.async_api import Error

    try:
        parsed = SimpleCookie(header)
    except CookieError:
        return
    host = canonical(address).host
    for name, morsel in parsed.items():
        domain = morsel["domain"].lstrip(".").lower()
        if domain and host != domain and not host.endswith(f".{domain}"):
            continue
        cookie: dict[str, Any] = {"name": name, "value": morsel.coded_value, "path": morsel["path"] or "/"}
        cookie["domain"] = f".{domain}" if domain else host
        cookie["httpOnly"], cookie["secure"] = bool(morsel["httponly"]), bool(morsel["secure"])
        if same_site := _SAME_SITE.get(morsel["samesite"].lower()):
            cookie["sameSite"] = same_site
        expires = _expires(morsel["max-age"], morsel["expires"])
        with contextlib.suppress(Error):
            if expires is not None and expires <= time.time():
                await context.clear_cookies(name=name, domain=cookie["domain"], path=cookie["path"])
                continue
            if expires is not None:
                cookie["expires"] = expires
            await context.add_cookies([cookie])  # type: ignore[list-item]


def _expires(max_age: str, expires: str) -> float | None:
    with contextlib.suppress(ValueError):
        if max_age:
            return time.time() + int(max_age)
    with contextlib.suppress(ValueError, TypeError):
        if expires:
            return parsedate_to_datetime(expires).timestamp()
    return None
