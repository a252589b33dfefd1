"""The shop as a site: an ASGI application that searches, shows goods, keeps one customer's cart and takes one order."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from toolenvs.shop.catalogue import DEPARTMENTS, Catalogue, Order, Product
from toolenvs.shop.wishes import Piece

HOME = "http://shop.test/"
"""Where the site stands; a name that no resolver ever finds (RFC 6761)."""
PAGE_SIZE = 10
MAX_PIECES = 20
_MAX_BODY = 4_096
_MAX_CENTS = 10**9
_HEADER_LINKS = 2
_FILTERS = 5
"""Fields of the search form: words, department, price, order, button."""
_PLACE_LINKS = 2
_ORDERS: dict[Order, str] = {"relevance": "best match", "price": "lowest price", "dearest": "highest price"}

Message = MutableMapping[str, Any]


class _Refused(Exception):
    """The request is answered by a page that says what was wrong; with the status 200, or no browser would show it.

    Args:
        told: what the page says.
        status: of HTTP.
    """

    def __init__(self, told: str, status: int = 200) -> None:
        super().__init__(told)
        self.status = status


class Site:
    """One customer's visit. Requests change nothing but the cart, and, once, the order.

    Args:
        catalogue: what is sold.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.cart: tuple[Piece, ...] = ()
        self.order: tuple[Piece, ...] | None = None
        """What was ordered; None until then. The first order is the only one."""

    def fork(self) -> "Site":
        """A copy with the same cart, which goes its own way."""
        copy = Site(self.catalogue)
        copy.cart, copy.order = self.cart, self.order
        return copy

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request (ASGI 3, HTTP)."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")[: _MAX_BODY + 1 - len(body)]
            if not message.get("more_body"):
                break
        status, location, page = 200, None, ""
        try:
            if len(body) > _MAX_BODY:
                raise _Refused("The form is too long.")
            if scope["method"] == "POST":
                status, location = 303, self._post(scope["path"], dict(_fields(body)))
            elif scope["method"] in ("GET", "HEAD"):
                page = self._get(scope["path"], dict(_fields(scope.get("query_string", b""))))
            else:
                raise _Refused("This shop is only read, and ordered from by its forms.", 405)
        except _Refused as refused:
            status, page = refused.status, self._page("Sorry", f"<h1>Sorry</h1><p>{escape(str(refused))}</p>")
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        headers += [(b"location", location.encode())] if location else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else page.encode()})

    def _get(self, path: str, query: Mapping[str, str]) -> str:
        if path == "/":
            return self._front()
        if path == "/search":
            return self._results(query)
        if path == "/cart":
            return self._cart()
        if path == "/thanks" and self.order is not None:
            return self._thanks(self.order)
        if path.startswith("/item/"):
            return self._item(self._product(path.removeprefix("/item/")))
        if path in ("/order", "/add", "/remove"):
            raise _Refused("Use the button on the page before.", 405)
        raise _Refused("There is no such page.", 404)

    def _post(self, path: str, form: Mapping[str, str]) -> str:
        """Do what a form asks for; gives where that leads."""
        if path not in ("/add", "/remove", "/order"):
            raise _Refused("There is no such form.", 404)
        if self.order is not None:
            raise _Refused("Your order is placed already.")
        if path == "/add":
            self._add(self._product(form.get("item", "")), form)
        elif path == "/remove":
            at = _number(form.get("line", ""))
            if at is None or at >= len(self.cart):
                raise _Refused("That is not in the cart.")
            self.cart = self.cart[:at] + self.cart[at + 1 :]
        else:
            if not self.cart:
                raise _Refused("The cart is empty.")
            self.order = self.cart
            return "/thanks"
        return "/cart"

    def _add(self, product: Product, form: Mapping[str, str]) -> None:
        chosen = {}
        for option, values in product.options.items():
            value = form.get(option, "")
            if value not in values:
                raise _Refused(f"Choose a {option} of {product.title} first: {', '.join(values)}.")
            chosen[option] = value
        if len(self.cart) >= MAX_PIECES:
            raise _Refused(f"The cart holds at most {MAX_PIECES} pieces.")
        self.cart = (*self.cart, Piece(product, chosen))

    def _product(self, number: str) -> Product:
        at = _number(number)
        if at is None or at >= self.catalogue.size:
            raise _Refused("There is no such item.", 404)
        return self.catalogue.products[at]

    # pages

    def _page(self, title: str, *parts: str) -> str:
        head = f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        top = f'<p><a href="/">Shop</a> | <a href="/cart">Cart ({len(self.cart)})</a></p>'
        return "\n".join([head, "<body>", top, *parts, "</body>", "</html>", ""])

    def _front(self) -> str:
        links = [
            f'<li><a href="/search?{urlencode({"department": name})}">{escape(name)}</a></li>' for name in DEPARTMENTS
        ]
        return self._page(
            "Shop", "<h1>Shop</h1>", _search_form({}), "<h2>Departments</h2>", f"<ul>{''.join(links)}</ul>"
        )

    def _results(self, query: Mapping[str, str]) -> str:
        asked = {key: _printable(query.get(key, "")) for key in ("q", "department", "most", "sort")}
        if asked["department"] and asked["department"] not in DEPARTMENTS:
            raise _Refused(f"There is no such department; there are {', '.join(DEPARTMENTS)}.")
        most = None
        if asked["most"]:
            most = _cents(asked["most"])
            if most is None:
                raise _Refused("Write the highest price as a number of dollars, such as 40.")
        order: Order = next((one for one in _ORDERS if one == asked["sort"]), "relevance")
        found = self.catalogue.search(asked["q"], department=asked["department"], most=most, order=order)
        pages = max(-(-len(found) // PAGE_SIZE), 1)
        page = min(max(_number(query.get("page", "")) or 1, 1), pages)
        shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        rows = [f"<tr><td>{_linked(one)}</td><td>from {dollars(one.base_price)}</td></tr>" for one in shown]
        kept = {key: value for key, value in asked.items() if value}
        turns = [
            f'<a href="/search?{urlencode({**kept, "page": str(to)})}">{word}</a>'
            for word, to in (("previous", page - 1), ("next", page + 1))
            if 1 <= to <= pages
        ]
        title = f"Results for {asked['q']}" if asked["q"] else "Results"
        told = f"{len(found)} items, page {page} of {pages}" if found else "Nothing was found."
        return self._page(
            title,
            f"<h1>{escape(title)}</h1>",
            _search_form(asked),
            f"<p>{told}</p>",
            f"<table>{''.join(rows)}</table>" if rows else "",
            f"<p>{' '.join(turns)}</p>" if turns else "",
        )

    def _item(self, product: Product) -> str:
        shelf = product.shelf
        place = " / ".join(
            f'<a href="/search?{urlencode(query)}">{escape(name)}</a>'
            for name, query in (
                (shelf.department, {"department": shelf.department}),
                (shelf.name, {"q": shelf.name, "department": shelf.department}),
            )
        )
        fields = "".join(
            f'<p><label>{option} <select name="{option}"><option value="">choose</option>'
            + "".join(
                f'<option value="{value}">{value}{f" (+ {dollars(more)})" if more else ""}</option>'
                for value, more in values.items()
            )
            + "</select></label></p>"
            for option, values in product.options.items()
        )
        features = "".join(f"<li>{feature}</li>" for feature in product.features)
        return self._page(
            product.title,
            f"<p>{place}</p>",
            f"<h1>{escape(product.title)}</h1>",
            f"<p>Price: {dollars(product.base_price)}</p>",
            f"<p>This {product.kind} is:</p><ul>{features}</ul>",
            f'<form method="post" action="/add"><input type="hidden" name="item" value="{product.number}">{fields}'
            "<p><button>Add to cart</button></p></form>",
        )

    def _cart(self) -> str:
        if not self.cart:
            return self._page("Cart", "<h1>Cart</h1>", "<p>The cart is empty.</p>")
        rows = [
            f"<li>{_told(piece)} "
            f'<form method="post" action="/remove"><input type="hidden" name="line" value="{at}">'
            "<button>Remove</button></form></li>"
            for at, piece in enumerate(self.cart)
        ]
        return self._page(
            "Cart",
            "<h1>Cart</h1>",
            f"<ul>{''.join(rows)}</ul>",
            f"<p>Total: {dollars(sum(piece.price for piece in self.cart))}</p>",
            '<form method="post" action="/order"><button>Place the order</button></form>',
        )

    def _thanks(self, order: Sequence[Piece]) -> str:
        rows = "".join(f"<li>{_told(piece)}</li>" for piece in order)
        return self._page("Thank you", "<h1>Thank you</h1>", "<p>Your order is placed.</p>", f"<ul>{rows}</ul>")


# where things stand on the pages, for who knows the way beforehand


def result_number(place: int) -> int:
    """The number of the link to a result, 0 for the first of a page."""
    return _HEADER_LINKS + _FILTERS + place


def option_number(product: Product, option: str) -> int:
    """The number of the field of an option on the product's page."""
    return _HEADER_LINKS + _PLACE_LINKS + list(product.options).index(option)


def add_number(product: Product) -> int:
    """The number of the button that puts the product into the cart."""
    return _HEADER_LINKS + _PLACE_LINKS + len(product.options)


def order_number(pieces: int) -> int:
    """The number of the button that orders a cart of so many pieces."""
    return _HEADER_LINKS + 2 * pieces


def dollars(cents: int) -> str:
    """A price as it is written."""
    return f"${cents // 100}.{cents % 100:02d}"


def _told(piece: Piece) -> str:
    chosen = ", ".join(f"{option} {value}" for option, value in piece.chosen.items())
    return f"{_linked(piece.product)}, {chosen}: {dollars(piece.price)}"


def _linked(product: Product) -> str:
    return f'<a href="/item/{product.number}">{escape(product.title)}</a>'


def _search_form(asked: Mapping[str, str]) -> str:
    departments = "".join(
        f'<option value="{name}"{" selected" if asked.get("department") == name else ""}>{name or "all"}</option>'
        for name in ("", *DEPARTMENTS)
    )
    orders = "".join(
        f'<option value="{key}"{" selected" if asked.get("sort") == key else ""}>{told}</option>'
        for key, told in _ORDERS.items()
    )
    return (
        '<form action="/search">'
        f'<p><label>words <input name="q" value="{escape(asked.get("q", ""))}"></label> '
        f'<label>department <select name="department">{departments}</select></label></p>'
        f'<p><label>price up to <input name="most" value="{escape(asked.get("most", ""))}"></label> '
        f'<label>sort by <select name="sort">{orders}</select></label> <button>Search</button></p></form>'
    )


def _fields(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise _Refused("The form has too many fields.") from None


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def _cents(text: str) -> int | None:
    whole, _, part = text.removeprefix("$").partition(".")
    digits = whole + part.ljust(2, "0") if whole or part else ""
    if len(part) > 2 or not digits.isascii() or not digits.isdigit() or len(digits) > len(str(_MAX_CENTS)):
        return None
    return int(digits)
