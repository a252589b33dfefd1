"""One canonical form of an address: what it is, that it stays, and that no parser sees another host in it."""

import socket
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolenvs.web.faults import Fault
from toolenvs.web.urls import canonical, literal

SAME = {
    "HTTP://Docs.Python.ORG:80/3/./library/../tutorial/": "http://docs.python.org/3/tutorial/",
    "https://docs.python.org": "https://docs.python.org/",
    "https://docs.python.org:443/a?b#c": "https://docs.python.org/a?b",
    "https://docs.python.org:8443/": "https://docs.python.org:8443/",
    "http://a.org./x": "http://a.org/x",
    "http://a.org:/x": "http://a.org/x",
    " http://a.org/x\n": "http://a.org/x",
    "http://a.org/%7euser/%2e%2e/b%2fc": "http://a.org/b%2Fc",
    "http://a.org/a b?c=d e&f=[1]": "http://a.org/a%20b?c=d%20e&f=%5B1%5D",
    "http://a.org/100%": "http://a.org/100%25",
    "http://a.org/ü?ü=é": "http://a.org/%C3%BC?%C3%BC=%C3%A9",
    "http://a.org//b//": "http://a.org//b//",
    "http://a.org/..": "http://a.org/",
    "http://a.org/b/..": "http://a.org/",
    "http://a.org/b/.": "http://a.org/b/",
    "http://a.org?": "http://a.org/?",
    "http://bücher.de/": "http://xn--bcher-kva.de/",
    "http://xn--bcher-kva.de/": "http://xn--bcher-kva.de/",
    "http://a。org/": "http://a.org/",
    "http://my_host.a.org/": "http://my_host.a.org/",
    "http://[2001:DB8:0:0::1]/": "http://[2001:db8::1]/",
    "http://[::ffff:1.2.3.4]:8080/": "http://[::ffff:102:304]:8080/",
    "http://127.1/": "http://127.0.0.1/",
    "http://2130706433": "http://127.0.0.1/",
    "http://0x7F000001": "http://127.0.0.1/",
    "http://0177.1": "http://127.0.0.1/",
    "http://0x7f.0.0.1": "http://127.0.0.1/",
    "http://0x7f.1": "http://127.0.0.1/",
    "http://0": "http://0.0.0.0/",
    "http://0x": "http://0.0.0.0/",
    "http://1.2.772": "http://1.2.3.4/",
    "http://127.0.0.1.": "http://127.0.0.1/",
}
BAD = [
    "", "x", "docs.python.org/3/", "//a.org/", "http:", "http:/a.org", "http:a.org", "http://", "http:///a", "http://:80/",
    "file:///etc/passwd", "data:text/html,x", "ftp://a.org/", "gopher://a.org:70/", "javascript:alert(1)", "jar:http://a.org/!/",
    "view-source:http://a.org/", "unix:/run/x.sock", "about:blank", "chrome://version", "blob:http://a.org/1", "ws://a.org/",
    "dict://127.0.0.1:11211/", "ldap://127.0.0.1/", "netdoc:///etc/passwd", "http+unix://%2frun/", "mailto:a@a.org",
    "http://user@a.org/", "http://user:pass@a.org/", "http://a.org@b.org/", "http://a.org:80@b.org/", "http://@a.org/",
    "http://a.org\\@b.org/", "http:\\\\a.org\\", "http://a.org\\.b.org/", "http://a.org/\\b",
    "http://a.org\n.b.org/", "http://a.org/\r\nHost: b.org", "http://a.org\t/", "http://a.org/\0", "http://a.org/\x7f",
    "http://a.org/\x85", "http://a.org/\u2028", "http://a.org/\ud800", "http://a .org/", "http://a.org /",
    "http://a.org:0/", "http://a.org:65536/", "http://a.org:99999/", "http://a.org:８０/", "http://a.org:+80/", "http://a.org:-1/",
    "http://a.org:80:80/", "http://a.org:8_0/", "http://a.org: 80/", "http://a.org:0x50/",
    "http://ex%61mple.org/", "http://127.0.0.1%2f@b.org/", "http://127.0.0.1%00.b.org/", "http://a%2eorg/",
    "http://a..org/", "http://.a.org/", "http://a.org../", "http://-a.org/", "http://a-.org/", "http://a*.org/", "http://a<b.org/",
    "http://" + "a" * 64 + ".org/", "http://" + "a." * 127 + "org/", "http://a.org/" + "x" * 2_048,
    "http://xn--a.org/", "http://xn--/", "http://\u2100.org/", "http://a\u2215b.org/", "http://１２７.０.０.１/",
    "http://ｌocalhost/", "http://①②⑦.0.0.1/", "http://a\u00ad.org/", "http://a\u200b.org/", "http://\u202ea.org/",
    "http://08.1.1.1/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.2.3.999/", "http://4294967296/", "http://0x1ffffffff/",
    "http://a.org.1/", "http://0_1.1/", "http://0177.0.0.1/",
    "http://[::1/", "http://::1/", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[v1.x]/",
    "http://[1.2.3.4]/", "http://[]/", "http://[::1]:x/", "http://[:::1]/",
]  # fmt: skip


@pytest.mark.parametrize(("text", "form"), SAME.items())
def test_canonical_form(text: str, form: str) -> None:
    assert canonical(text).text == form
    assert canonical(form).text == form


@pytest.mark.parametrize("text", BAD, ids=[ascii(text)[:60] for text in BAD])
def test_what_is_no_plain_address_is_refused(text: str) -> None:
    with pytest.raises(Fault) as told:
        canonical(text)
    assert told.value.status == "bad_url"
    assert ": " in told.value.told or "use http" in told.value.told
    assert "\n" not in told.value.told


def test_fragment_and_parts() -> None:
    url = canonical("https://A.org/x%20y?q=1#T%C3%A9l%20x")
    assert (url.text, url.fragment, url.host, url.port, url.target) == (
        "https://a.org/x%20y?q=1", "Tél x", "a.org", 443, "/x%20y?q=1",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("b.html", "http://a.org/x/b.html"),
        ("../b", "http://a.org/b"),
        ("/b", "http://a.org/b"),
        ("#top", "http://a.org/x/y?q"),
        ("?z", "http://a.org/x/y?z"),
        ("//b.org/c", "http://b.org/c"),
        ("https://b.org", "https://b.org/"),
        ("../../../../etc", "http://a.org/etc"),
    ],
)
def test_relative_addresses(text: str, form: str) -> None:
    assert canonical(text, "http://a.org/x/y?q").text == form


@pytest.mark.parametrize("text", ["javascript:x", "//user@b.org/", "/a\\b", "//１.2.3.4/", "data:,x"])
def test_relative_addresses_are_checked_too(text: str) -> None:
    with pytest.raises(Fault, match=r".") as told:
        canonical(text, "http://a.org/x/y?q")
    assert told.value.status == "bad_url"


_PIECES = st.sampled_from(
    [
        "http://", "https://", "HTTP:", "//", "/", "@", ":", "80", "a.org", "b.org", "127.0.0.1", "0x7f.1", "0177.1",
        "%40", "%2f", "\\", "[", "]", "::1", "?", "#", ".", "..", "%2e", "。", "．", "：", "／", "＠", "１", "xn--",
        "ü", "ß", "\u00ad", " ", "\t", "\n", "_", "-", "é", "％",
    ]
)  # fmt: skip
_TEXTS = st.one_of(
    st.lists(_PIECES, max_size=10).map("".join),
    st.tuples(st.sampled_from(["http://", "https://"]), st.lists(_PIECES, max_size=8).map("".join)).map("".join),
    st.tuples(st.just("http://"), st.text(max_size=12), st.sampled_from(["", "/", ":80/", "/é"])).map("".join),
)


@given(_TEXTS)
@example("http://a.org/%2e%2e/%41%zz")
@example("http://0x7f.0.0.0x1/#%")
def test_the_form_is_its_own_form_and_all_parsers_see_one_host(text: str) -> None:
    try:
        url = canonical(text)
    except Fault:
        return
    again = canonical(url.text)
    assert again.text == url.text
    assert url.text.isascii()
    assert url.text.isprintable()
    split, other = urlsplit(url.text), httpx.URL(url.text)
    assert split.hostname == url.host == other.raw_host.decode()
    assert (split.port or url.port) == url.port == (other.port or url.port)
    assert split.username is split.password is None
    assert other.userinfo == b""
    assert split.scheme == other.scheme == url.scheme
    for seen in (urlsplit(text.strip(" \t\r\n")).hostname, httpx.URL(text.strip(" \t\r\n")).host):
        name = f"[{seen}]" if ":" in str(seen) else seen
        assert canonical(f"http://{name}/").host == url.host


@given(st.lists(st.sampled_from(["0", "1", "7", "8", "9", "a", "f", "x", "."]), min_size=1, max_size=14).map("".join))
def test_numbers_are_read_as_the_system_reads_them(host: str) -> None:
    """The C library's `inet_aton` is the judge: what it takes for an address is that address here, or is refused."""
    try:
        system = socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        system = None
    try:
        url = canonical(f"http://{host}/")
    except Fault:
        return
    if system is not None:
        assert url.host == system
    else:
        assert literal(url.host) is None or host.endswith((".", "0x")) or "0x." in host
