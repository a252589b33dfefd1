"""The shop's pages, its forms, and that nothing but its forms changes anything."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from toolenvs import web
from toolenvs.shop import HOME, Product, Site, catalogue
from toolenvs.shop.site import MAX_PIECES, add_number, option_number, order_number, result_number
from toolenvs.web.browser import Browser

SHOP = catalogue(1_000, 0)
ITEM = SHOP.products[343]


class Visit:
    """A site and a browser in it."""

    def __init__(self) -> None:
        self.site = Site(SHOP)
        self.browser: Browser = web.open(self.site, home=HOME)

    def add(self, product: Product) -> web.Page:
        self.browser.open(f"{HOME}item/{product.number}")
        for option, values in product.options.items():
            self.browser.select(option_number(product, option), next(iter(values)))
        return self.browser.click(add_number(product))


@pytest.fixture
def visit() -> Iterator[Visit]:
    one = Visit()
    with one.browser:
        yield one


def test_a_purchase(visit: Visit) -> None:
    browser = visit.browser
    assert "Kitchen" in browser.open(HOME).text
    page = browser.open(f"{HOME}search?q={ITEM.series}")
    assert page.links[result_number(0) - 5].url == f"{HOME}item/343"  # five fields stand before it
    page = browser.click(result_number(0))
    assert ITEM.title in page.text
    assert all(f"* {feature}" in page.text for feature in ITEM.features)
    page = browser.click(add_number(ITEM))
    assert page.status == "ok"
    assert "Choose a pack" in page.text
    assert visit.site.cart == ()
    browser.back()
    page = browser.select(option_number(ITEM, "pack"), "2 pieces")
    assert "2 pieces" in page.text
    browser.select(option_number(ITEM, "colour"), "navy")
    page = browser.click(add_number(ITEM))
    assert page.url == f"{HOME}cart"
    assert "pack 2 pieces, colour navy: $16.98" in page.text
    assert "Cart (1)" in page.text
    page = browser.click(order_number(1))
    assert page.url == f"{HOME}thanks"
    assert "Your order is placed" in page.text
    [bought] = visit.site.order or ()
    assert (bought.product, bought.chosen, bought.price) == (ITEM, {"pack": "2 pieces", "colour": "navy"}, 1_698)


def test_a_cart_is_filled_and_emptied(visit: Visit) -> None:
    products = SHOP.products[:3]
    for count, product in enumerate(products, start=1):
        assert f"Cart ({count})" in visit.add(product).text
    page = visit.browser.open(f"{HOME}cart")
    total = sum(piece.price for piece in visit.site.cart)
    assert f"Total: ${total // 100}.{total % 100:02d}" in page.text
    page = visit.browser.click(3 + 2)  # the second one's Remove, behind two links and a link and a button for the first
    assert [piece.product for piece in visit.site.cart] == [products[0], products[2]]
    assert f"[{order_number(2)}‡submit Place the order]" in page.text
    for _ in range(2):
        page = visit.browser.click(3)
    assert "The cart is empty" in page.text
    assert visit.browser.open(f"{HOME}thanks").status == "not_found"


def test_the_first_order_is_the_last(visit: Visit) -> None:
    cart = visit.add(ITEM)
    visit.browser.click(order_number(1))
    order = visit.site.order
    again = visit.browser.click(order_number(1), cursor=cart.cursor)
    assert "placed already" in again.text
    visit.add(SHOP.products[0])
    assert visit.site.order is order
    assert len(order or ()) == 1


def test_a_cart_has_room_for_some_pieces_only(visit: Visit) -> None:
    for _ in range(MAX_PIECES):
        visit.add(ITEM)
    assert "at most" in visit.add(ITEM).text
    assert len(visit.site.cart) == MAX_PIECES


def test_results_are_filtered_sorted_and_turned_over(visit: Visit) -> None:
    browser = visit.browser
    browser.open(HOME)
    browser.type(2, "cup")
    browser.select(3, "Kitchen")
    browser.type(4, "25.50")
    browser.select(5, "highest price")
    page = browser.submit(2)
    wanted = SHOP.search("cup", department="Kitchen", most=2_550, order="dearest")
    assert f"{len(wanted)} items, page 1 of {-(-len(wanted) // 10)}" in page.text
    assert len(wanted) > 10
    seen = [link.text for link in page.links if "/item/" in link.url]
    while (more := [link for link in page.links if link.text == "next"]) != []:
        page = browser.click(more[0].number)
        seen += [link.text for link in page.links if "/item/" in link.url]
    assert seen == [product.title for product in wanted]
    assert "previous" in page.text
    back = next(link for link in page.links if link.text == "previous")
    assert wanted[0].title in browser.click(back.number).text or len(wanted) > 20


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("search?most=x", "ok", "as a number of dollars"),
        ("search?most=-5", "ok", "as a number of dollars"),
        ("search?most=1.999", "ok", "as a number of dollars"),
        ("search?most=$", "ok", "as a number of dollars"),
        ("search?most=.", "ok", "as a number of dollars"),
        ("search?most=$40", "ok", "items, page 1"),
        ("search?department=Toys", "ok", "There is no such department"),
        ("search?page=99999&q=cup", "ok", "page"),
        ("search?page=-1", "ok", "page 1 of 100"),
        ("search?sort=none", "ok", "page 1 of 100"),
        ("search?q=%3Cscript%3E%26%22", "ok", '# Results for <script>&"'),
        ("search?" + "a=1&" * 60, "ok", "too many fields"),
        ("search?q=%00%ff%ed%a0%80", "ok", "Nothing was found"),
        ("item/1000", "not_found", ""),
        ("item/-1", "not_found", ""),
        ("item/٣", "not_found", ""),
        ("item/1/2", "not_found", ""),
        ("order", "http_status", ""),
        ("nothing", "not_found", ""),
    ],
)
def test_wrong_addresses(visit: Visit, path: str, status: str, told: str) -> None:
    page = visit.browser.open(HOME + path)
    assert page.status == status
    assert told in page.text


def _ask(site: Site, method: str, path: str, body: bytes = b"") -> tuple[int, str]:
    async def ask() -> tuple[int, str]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await site({"type": "http", "method": method, "path": path, "query_string": b""}, receive, send)
        return sent[0]["status"], sent[1]["body"].decode()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/add", b""),
        ("/add", b"item=343"),
        ("/add", b"item=343&pack=2+pieces"),
        ("/add", b"item=343&pack=2+pieces&colour=pink"),
        ("/add", b"item=343&pack=2+pieces&colour="),
        ("/add", b"item=x&pack=2+pieces&colour=navy"),
        ("/add", b"item=99999&pack=2+pieces&colour=navy"),
        ("/add", b"item=343&pack=2+pieces&colour=navy&" + b"x" * 5_000),
        ("/remove", b"line=0"),
        ("/remove", b"line=-1"),
        ("/order", b""),
        ("/thanks", b""),
        ("/", b"q=x"),
    ],
)
def test_forms_that_no_page_has_change_nothing(path: str, body: bytes) -> None:
    site = Site(SHOP)
    status, _ = _ask(site, "POST", path, body)
    assert status != 303
    assert (site.cart, site.order) == ((), None)
    for method in ("PUT", "DELETE", "PATCH"):
        assert _ask(site, method, "/add", b"item=343&pack=2+pieces&colour=navy")[0] == 405
    assert _ask(site, "HEAD", "/")[1] == ""
    assert (site.cart, site.order) == ((), None)


def test_forks_have_carts_of_their_own(visit: Visit) -> None:
    visit.add(ITEM)
    with visit.browser.fork() as copy:
        other: Any = copy.source
        assert copy.click(order_number(1)).url == f"{HOME}thanks"
        assert visit.site.order is None
        assert "Cart (1)" in visit.browser.open(f"{HOME}cart").text
        visit.browser.click(3)
        assert visit.site.cart == ()
        assert other._app.order is not None
