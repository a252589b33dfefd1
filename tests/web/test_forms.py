"""A small shop of forms, cookies and redirects, used without a browser and without a socket."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import web
from toolenvs.errors import WebError
from toolenvs.web.browser import Browser

FORM = """<title>Order</title>
<form action=/search method=get><input name=q placeholder=words><input type=submit name=go value=Search></form>
<form action="/order?kept=no" method=post>
<input type=hidden name=token value=t1>
<input name=name value=Ann> <input name=off value=x disabled> <input type=password name=pin>
<textarea name=note>a note</textarea>
<input type=checkbox name=gift value=yes> <input type=checkbox name=fast checked>
<input type=radio name=size value=s> <input type=radio name=size value=m checked> <input type=radio name=size value=l>
<select name=colour><option value=r>Red<option value=g selected>Green<option value=b>Dark  blue</select>
<select name=many multiple><option>one<option>two<option>three</select>
<input type=button value=Script> <button name=act value=buy>Buy</button> <button name=act value=save>Save</button>
</form>
<form action=/upload method=post enctype=multipart/form-data><input type=file name=f><button>Send</button></form>
"""


def html(body: str, status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"content-type": "text/html; charset=utf-8", **named}, body.encode()


class Shop:
    """Keeps a cart for each cookie, and every request that it got."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, dict[str, str]]] = []
        self.carts: dict[str, list[str]] = {}

    def fork(self) -> "Shop":
        copy = Shop()
        copy.carts = {name: list(cart) for name, cart in self.carts.items()}
        return copy

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive()).get("body", b"").decode()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        path, query = scope["path"], scope["query_string"].decode()
        self.requests.append((scope["method"], path + ("?" + query if query else ""), body, headers))
        status, fields, content = self.answer(scope["method"], path, query, body, headers)
        sent = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": content})

    def answer(self, method: str, path: str, query: str, body: str, headers: dict[str, str]) -> Any:
        visitor = headers.get("cookie", "").partition("visitor=")[2].partition(";")[0]
        if path == "/":
            return html(FORM)
        if path == "/login":
            number = len(self.carts) + 1
            self.carts[str(number)] = []
            return html("", 303, location="/cart", set_cookie=f"visitor={number}; Path=/; HttpOnly")
        if path == "/cart":
            return html(f"<p>visitor {visitor or 'unknown'}: {', '.join(self.carts.get(visitor, []))}")
        if path == "/add":
            self.carts[visitor].append(dict(parse_qsl(query))["what"])
            return html("", 302, location="cart")
        if path == "/search":
            return html(f"<p>found {dict(parse_qsl(query)).get('q')}")
        if path in ("/order", "/order2"):
            return html(f"<p>{method} {body}")
        if path.startswith("/move"):
            return html("", int(path[5:8]), location="/order" if path.endswith("x") else "http://other.test/")
        if path.startswith("/hop"):
            return html("", 301, location=f"/hop{int(path[4:]) - 1}" if path != "/hop1" else "/#last")
        if path == "/loop":
            return html("", 307, location="/loop")
        if path == "/broken":
            raise ValueError("no such table")
        if path == "/silent":
            return html("", 500)
        return html("", 404)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def browser(shop: Shop) -> Iterator[Browser]:
    with web.open(shop) as browser:
        yield browser


def number(page: web.Page, name: str, place: int = 0) -> int:
    assert page.document is not None
    return [field.number for field in page.document.fields if name in (field.name, field.label, field.value)][place]


def test_a_search_form_is_sent_with_get(browser: Browser, shop: Shop) -> None:
    page = browser.open()
    typed = browser.type(number(page, "q"), "caf\u00e9 & more")
    assert typed.cursor == 1
    assert "caf\u00e9 & more" in typed.document.lines[typed.first_line]
    found = browser.submit(number(page, "q"))
    assert found.url == "http://app.test/search?q=caf%C3%A9+%26+more"
    assert found.document.lines[0] == "found caf\u00e9 & more"
    pressed = browser.click(number(page, "Search"), cursor=1)
    assert pressed.url.endswith("&go=Search")
    assert browser.back().url == found.url
    assert browser.back().cursor == 1  # the form as it was filled in


def test_all_kinds_of_fields(browser: Browser, shop: Shop) -> None:
    page = browser.open()
    n = lambda *asked: number(page, *asked)  # noqa: E731
    browser.type(n("name"), "Bo\nb")
    browser.type(n("pin"), "1]2[3")
    browser.type(n("note"), "two\nlines ]")
    browser.click(n("gift"))
    browser.click(n("fast"))
    browser.click(n("l"))
    browser.select(n("colour"), "dark  blue")
    last = browser.select(n("many"), ["one", "three"])
    assert (last.cursor, last.status) == (8, "ok")
    sent = browser.click(n("save"))
    method, target, body, headers = shop.requests[-1]
    assert (method, target) == ("POST", "/order?kept=no")
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert sorted(parse_qsl(body, keep_blank_values=True)) == [
        ("act", "save"), ("colour", "b"), ("gift", "yes"), ("many", "one"), ("many", "three"), ("name", "Bob"),
        ("note", "two\r\nlines ]"), ("pin", "1]2[3"), ("size", "l"), ("token", "t1"),
    ]  # fmt: skip
    assert sent.status == "ok"
    assert browser.back().cursor == last.cursor
    assert browser.view(0, cursor=0).text == page.text


def test_what_a_field_holds_is_seen_on_its_page(browser: Browser) -> None:
    page = browser.open()
    assert "[‡" not in page.text
    shown = browser.click(number(page, "gift"))
    assert "gift=yes: on" in shown.text
    assert "gift=yes: off" in browser.click(number(page, "gift")).text
    radio = browser.click(number(page, "s"))
    assert "size=s: on" in radio.text
    assert "size=m: off" in radio.text
    assert "select colour: Red" in browser.select(number(page, "colour"), "r").text
    assert "1234" not in browser.type(number(page, "pin"), "1234").text


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda b, n: b.type(n("off"), "y"), "no_such_link"),
        (lambda b, n: b.type(n("gift"), "y"), "no_such_link"),
        (lambda b, n: b.type(n("colour"), "y"), "no_such_link"),
        (lambda b, n: b.type(n("Buy"), "y"), "no_such_link"),
        (lambda b, n: b.type(n("q"), "y" * 70_000), "too_large"),
        (lambda b, n: b.type(n("q"), "a\0b"), "no_such_link"),
        (lambda b, n: b.type(n("q"), None), "no_such_link"),
        (lambda b, n: b.select(n("q"), "y"), "no_such_link"),
        (lambda b, n: b.select(n("colour"), "pink"), "no_such_link"),
        (lambda b, n: b.select(n("colour"), ["r", "g"]), "no_such_link"),
        (lambda b, n: b.select(n("many"), [3]), "no_such_link"),
        (lambda b, n: b.click(n("name")), "no_such_link"),
        (lambda b, n: b.click(n("Script")), "needs_browser"),
        (lambda b, n: b.click(n("Send")), "needs_browser"),
        (lambda b, n: b.submit(), "no_such_link"),
        (lambda b, n: b.open(n("name")), "no_such_link"),
    ],
)
def test_what_a_field_cannot_do_is_told(browser: Browser, shop: Shop, act: Any, status: str) -> None:
    page = browser.open()
    told = act(browser, lambda *asked: number(page, *asked))
    assert told.status == status
    assert told.text.count("\n") == 0
    assert len(shop.requests) == 1
    assert browser.cursor == 0


def test_cookies_last_for_the_episode_only(shop: Shop) -> None:
    with web.open(shop) as first, web.open(shop) as second:
        assert first.open("http://app.test/login").document.lines[0] == "visitor 1:"
        assert first.open("/add?what=tea").document.lines[0] == "visitor 1: tea"
        assert second.open("http://app.test/cart").document.lines[0] == "visitor unknown:"
        assert second.open("http://app.test/login").document.lines[0] == "visitor 2:"
        assert first.open("/cart").url == "http://app.test/cart"
        assert first.open("/cart").document.lines[0] == "visitor 1: tea"


def test_a_fork_takes_cookies_and_carts_along(browser: Browser) -> None:
    browser.open("http://app.test/login")
    browser.open("/add?what=tea")
    fork = browser.fork()
    assert fork.open("/add?what=jam").document.lines[0] == "visitor 1: tea, jam"
    assert browser.open("/cart").document.lines[0] == "visitor 1: tea"
    fork.close()


def test_redirects(browser: Browser, shop: Shop) -> None:
    assert browser.open("http://app.test/hop5").url == "http://app.test/"
    assert browser.open("http://app.test/hop6").status == "too_many_redirects"
    assert browser.open("http://app.test/loop").status == "too_many_redirects"
    page = browser.open("http://app.test/loop")
    assert "http://app.test/loop" in page.text


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_a_form_after_a_redirect(shop: Shop, status: int, method: str) -> None:
    form = f"<form method=post action=/move{status}x><input name=a value=b><button>Go</button></form>"
    away = f"<form method=post action=/move{status}><input name=a value=b><button>Go</button></form>"
    answer = shop.answer
    shop.answer = lambda m, path, *rest: (
        html({"/f": form, "/g": away}.get(path, "")) if len(path) == 2 else answer(m, path, *rest)
    )
    with web.open(shop) as browser:
        browser.open("http://app.test/f")
        assert browser.submit().document.lines[0] == ("POST a=b" if method == "POST" else "GET")
        browser.open("http://app.test/g")
        page = browser.submit()
        assert page.status == ("blocked" if method == "POST" else "not_found")  # not sent again to another host
        assert shop.requests[-1][1] == f"/move{status}"


def test_errors_of_the_server_and_of_the_application(browser: Browser) -> None:
    page = browser.open("http://app.test/silent")
    assert (page.status, page.http_status) == ("http_status", 500)
    assert (browser.open("http://app.test/none").status, browser.open("http://app.test/none").http_status) == (
        "not_found",
        404,
    )
    with pytest.raises(WebError, match="ValueError: no such table"):
        browser.open("http://app.test/broken")
    assert browser.open("http://app.test/cart").status == "ok"


@given(st.lists(st.tuples(st.sampled_from(["q", "name", "note", "pin"]), st.text(max_size=20)), max_size=5))
def test_what_was_typed_last_is_sent(typed: list[tuple[str, str]]) -> None:
    shop = Shop()
    with web.open(shop) as browser:
        page = browser.open()
        expected = {"name": "Ann", "note": "a note", "pin": ""}
        for name, text in typed:
            told = browser.type(number(page, name), text)
            assert told.status == ("ok" if "\0" not in text else "no_such_link")
            if told.status == "ok":
                kept = text.replace("\r\n", "\n").replace("\r", "\n")
                expected[name] = kept.replace("\n", "\r\n" if name == "note" else "")
        browser.submit(number(page, "Buy"))
        sent = dict(parse_qsl(shop.requests[-1][2], keep_blank_values=True))
        for name in ("name", "note", "pin"):
            assert sent[name] == expected[name].encode("utf-8", "replace").decode()
