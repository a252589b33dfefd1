"""A generated shop as a tool: search it, look at goods, choose options, fill a cart and order, as one browses.

Each episode has a shop of its own, with its own cart, over one catalogue that all share. The first order ends the
episode, and is worth what `toolenvs.shop.Wish.value` says of it.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal
from urllib.parse import urlencode

from toolenvs.errors import WebError
from toolenvs.shop import HOME, Site, Wish, catalogue
from toolenvs.tasks.task import Task
from toolenvs.tools import browse
from toolenvs.tools.base import ToolResult
from toolenvs.web.app import Application
from toolenvs.web.browser import Browser
from toolenvs.web.page import Page

_MAX_QUERY_BYTES = 600
"""Of UTF-8; each may take three characters of an address, and an address has a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.shop]`."""

    products: int = 1_000
    """Size of the catalogue."""
    shop: int = 0
    """Seed of the catalogue."""
    backend: Literal["text", "chromium"] = "text"
    """Whether pages are read as they are, or in a real browser."""
    actions: tuple[str, ...] = ("search", "open", "click", "find", "view", "back", "type", "select", "submit")
    """What the policy may do; see `toolenvs.tools.browse`."""
    max_view_chars: int = 4_000
    """Characters of the lines that one call shows."""
    max_hits: int = 20
    """Found lines that are shown."""
    max_pages: int = 500
    """Pages, and states of pages, of an episode."""
    timeout_s: float = 10.0
    """Wall-clock deadline of a call."""
    description: str = (
        "Shops on a web site. A page is shown as numbered lines L0, L1, ...; [n†text] is a link and [n‡...] a field or "
        "button of number n; the first line names the page's cursor, [n], under which it can be had again."
    )
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        self.browsing()
        catalogue(self.products, self.shop)

    def browsing(self) -> browse.Options:
        """The same for the browser."""
        names = ("backend", "actions", "max_view_chars", "max_hits", "max_pages", "timeout_s", "description")
        return browse.Options(site="shop", home=HOME, **{name: getattr(self, name) for name in names})


class Tool:
    """A catalogue that all episodes of this process share; each has a shop and a browser of its own."""

    name: ClassVar[str] = "shop"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        self.parameters = browse.Tool(options.browsing()).parameters

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the wishes cannot be fulfilled at this shop; None where nothing speaks against it."""
        sold, asked = (self.options.products, self.options.shop), (tasks.get("products", 1_000), tasks.get("shop", 0))
        if tasks.get("set") != "shop" or sold == asked:
            return None
        told = [f"products = {one[0]}, shop = {one[1]}" for one in (sold, asked)]
        return f"{told[0]} is not the shop of the tasks; set {told[1]}"

    def _browser(self) -> Browser:
        options = self.options
        limits = {name: getattr(options, name) for name in ("max_view_chars", "max_hits", "max_pages", "timeout_s")}
        return Visit(Site(catalogue(options.products, options.shop))).browser(options.backend, **limits)

    async def check(self) -> None:
        """Open the first page.

        Raises:
            InfrastructureError: the browser does not work here.
        """
        async with self._browser() as browser:
            page = await browser.aopen()
            if page.status != "ok":
                raise WebError(f"the shop does not open: {page.text}")

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: a customer with an empty cart who has seen nothing yet.

        Raises:
            TaskError: the task holds no wish.
        """
        wish = Wish.from_dict(task.extra.get("wish"))
        return Session(self.options.browsing(), self._browser(), wish)

    async def close(self) -> None:
        """Nothing: the catalogue stays for the process."""


class Visit(Application):
    """One customer's shop as a source of pages.

    Args:
        site: with that customer's cart.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(site, home=HOME)
        self.site = site

    def fork(self) -> "Visit":
        """The same shop with the same cart, for another course of things."""
        return Visit(self.site.fork())


class Session(browse.Session):
    """One customer's visit.

    Args:
        options: of the browser's actions.
        browser: over a `Visit`.
        wish: what the customer wants.
    """

    def __init__(self, options: browse.Options, browser: Browser, wish: Wish) -> None:
        super().__init__(options, browser)
        self._wish = wish

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Do what a call asks for; the one that orders ends the episode.

        Raises:
            ToolError: it asks for nothing that can be done; says what can.
            WebError: the browser failed.
        """
        result = await super().call(arguments)
        assert isinstance(self._browser.source, Visit)
        order = self._browser.source.site.order
        if order is None:
            return result
        bought = [{"item": piece.product.number, "options": piece.chosen, "price": piece.price} for piece in order]
        return replace(result, data={**result.data, "bought": bought}, ended=True, score=self._wish.value(order))

    def _do(self, action: str, given: dict[str, Any]) -> Awaitable[Page]:
        if action == "search":  # by the shop's own form, whose results can be filtered further
            query = given["query"].encode("utf-8", "replace")[:_MAX_QUERY_BYTES].decode("utf-8", "ignore")
            return self._browser.aopen(f"{HOME}search?{urlencode({'q': query})}")
        return super()._do(action, given)

    async def fork(self) -> "Session":
        """A copy: pages, history, forms and the cart.

        Raises:
            ForkError: a real browser cannot be copied.
        """
        return Session(self._options, self._browser.fork(), self._wish)
