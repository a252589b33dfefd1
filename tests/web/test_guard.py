"""Where the live web may lead: a table of addresses, and names whose answers are not what they seem.

Nothing is connected to: the network of these tests notes each address and answers by itself.
"""

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest

from toolenvs import web
from toolenvs.errors import ConfigError
from toolenvs.web.browser import Browser
from toolenvs.web.faults import Fault
from toolenvs.web.guard import Policy, refusal
from toolenvs.web.urls import canonical

REFUSED = {
    "blocked": [
        # this machine
        "http://127.0.0.1/", "https://127.0.0.1/", "http://127.0.0.1:80/x?y#z", "http://127.255.255.254/", "http://127.1/",
        "http://127.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.1/", "http://017700000001/",
        "http://127.0.0.1./", "http://127。0。0。1/", "http://0/", "http://0.0.0.0/", "http://0x0/", "http://0.1.2.3/",
        "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/", "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/", "http://[::ffff:0:127.0.0.1]/", "http://[::ffff:0.0.0.0]/",
        # private networks
        "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/",
        "http://3232235777/", "http://0xc0a80101/", "http://192.168.257/", "http://012.1/", "http://[::ffff:10.0.0.1]/",
        "http://[::10.0.0.1]/", "http://[fc00::1]/", "http://[fd12:3456:789a::1]/", "http://[fec0::1]/",
        # metadata of clouds, link-local, carriers
        "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://0xa9.254.0xa9fe/",
        "http://[::ffff:169.254.169.254]/", "http://[::a9fe:a9fe]/", "http://169.254.170.2/v2/credentials",
        "http://[fd00:ec2::254]/", "http://100.100.100.200/", "http://100.64.0.1/", "http://100.127.255.255/",
        "http://192.0.0.192/", "http://168.63.129.16:32526/", "http://[fe80::1]/", "http://[febf::1]/",
        # other special networks
        "http://192.0.0.1/", "http://192.0.0.9/", "http://192.0.2.1/", "http://192.88.99.1/", "http://198.18.0.1/",
        "http://198.19.255.255/", "http://198.51.100.1/", "http://203.0.113.1/", "http://224.0.0.1/", "http://239.255.255.255/",
        "http://240.0.0.1/", "http://255.255.255.255/", "http://[ff02::1]/", "http://[ff0e::1]/", "http://[100::1]/",
        "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[5f00::1]/", "http://[4000::1]/",
        # IPv4 carried in IPv6
        "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::1]/", "http://[64:ff9b:1::808:808]/",
        "http://[2002:7f00:1::]/", "http://[2002:a00:1::1]/", "http://[2002:c0a8:101::]/", "http://[2002:a9fe:a9fe::]/",
        "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[2001::1]/", "http://[2001:10::1]/",
        "http://[2606:4700::5efe:7f00:1]/", "http://[2606:4700::200:5efe:10.0.0.1]/",
        # ports
        "http://8.8.8.8:22/", "http://8.8.8.8:6379/", "http://site.org:8080/", "https://site.org:8443/", "http://site.org:25/",
        # names of this machine and its networks
        "http://localhost/", "http://LOCALHOST./", "http://foo.localhost/", "http://localhost.localdomain/", "http://printer.local/",
        "http://metadata.google.internal/computeMetadata/v1/", "http://kubernetes.default.svc.cluster.local/", "http://router.lan/",
        "http://intranet/", "http://db/", "http://x.home.arpa/", "http://abc.onion/",
        # names that lead there
        "http://to-loopback.org/", "http://to-private.org/", "http://to-metadata.org/", "http://mixed.org/", "http://mixed-v6.org/",
        "http://to-mapped.org/", "http://to-zone.org/", "http://to-nat64.org/",
    ],
    "bad_url": [
        "file:///etc/passwd", "data:text/html,x", "gopher://127.0.0.1:6379/_x", "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "view-source:http://127.0.0.1/", "jar:http://127.0.0.1!/", "unix:/var/run/docker.sock", "http://１２７.０.０.１/",
        "http://①②⑦.⓪.⓪.①/", "http://user:pass@site.org/", "http://site.org@127.0.0.1/", "http://127.0.0.1\\@site.org/",
        "http://site.org#@127.0.0.1:x@/\\", "http://site.org\r\nHost: 127.0.0.1/", "http://127.0.0.1%2f.site.org/",
        "http://127.0.0.1%00.site.org/", "http://[fe80::1%25lo]/", "http://[::1%lo]/", "http://0177.0.0.1/",
        "http://127.0.0.1:0/",
        "http://ｌｏｃａｌｈｏｓｔ/", "http:127.0.0.1/", "http:/127.0.0.1/", "http://256.0.0.1/",
        "http://site.org/" + "a" * 2_048,
    ],
    "not_found": ["http://unknown.org/"],
}  # fmt: skip
NAMES = {
    "site.org": ["93.184.215.14"],
    "to-loopback.org": ["127.0.0.1"],
    "to-private.org": ["10.1.2.3"],
    "to-metadata.org": ["169.254.169.254"],
    "mixed.org": ["93.184.215.14", "192.168.0.1"],
    "mixed-v6.org": ["2606:2800:21f::1", "93.184.215.14", "fd00::1"],
    "to-mapped.org": ["::ffff:127.0.0.1"],
    "to-zone.org": ["fe80::1%lo"],
    "to-nat64.org": ["64:ff9b::7f00:1"],
}
TABLE = [(url, status) for status, urls in REFUSED.items() for url in urls]
Live = Callable[..., Browser]


def test_the_table_is_long() -> None:
    assert len(TABLE) == len(set(TABLE)) >= 120


@pytest.mark.parametrize(("url", "status"), TABLE, ids=[ascii(url)[1:50] for url, _ in TABLE])
def test_refused(live: Live, network: Any, url: str, status: str) -> None:
    network.names = dict(NAMES)
    page = live().open(url)
    assert page.status == status
    assert network.connected == []
    assert page.text.startswith(f"Error ({status}): ")
    assert "\n" not in page.text
    assert page.document is None


@pytest.mark.parametrize("url", ["http://site.org/x", "https://site.org/", "http://93.184.215.14/", "http://1572395790/",
                                 "http://[2606:2800:21f::1]/", "http://[64:ff9b::808:808]/", "http://[2002:808:808::]/",
                                 "http://[::ffff:8.8.8.8]/", "http://SITE.org./"])  # fmt: skip
def test_public_addresses_are_opened(live: Live, network: Any, url: str) -> None:
    network.names = dict(NAMES)
    page = live().open(url)
    assert page.status == "ok"
    assert "public page" in page.text
    assert network.connected  # robots.txt first, then the page
    assert all(refusal(ipaddress.ip_address(host)) is None for host, _ in network.connected)


def test_the_checked_address_is_connected_to_and_the_name_is_kept(live: Live, network: Any) -> None:
    network.names = {"site.org": ["93.184.215.14"]}
    live().open("https://site.org/")
    assert set(network.connected) == {("93.184.215.14", 443)}
    assert all(stream.tls_name == "site.org" for stream in network.streams)
    assert all(b"Host: site.org\r\n" in stream.written for stream in network.streams)


def test_a_name_that_changes_its_answer_is_judged_each_time(live: Live, network: Any) -> None:
    """DNS rebinding: the first answer is public, the next one is not; each connection goes to what was judged."""
    network.names = {"rebind.org": [["93.184.215.14"], ["93.184.215.14"], ["127.0.0.1"]]}
    browser = live()
    assert browser.open("http://rebind.org/").status == "ok"
    assert browser.open("http://rebind.org/again").status == "blocked"
    assert network.looked_up == ["rebind.org"] * 3
    assert network.connected == [("93.184.215.14", 80)] * 2


def test_a_kept_connection_needs_no_second_look(live: Live, network: Any) -> None:
    network.names = {"keep.org": [["93.184.215.14"], ["10.0.0.1"]]}
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi"
    network.answers = [answer * 3]
    browser = live()
    assert browser.open("http://keep.org/1").status == "ok"
    assert browser.open("http://keep.org/2").status == "ok"
    assert network.connected == [("93.184.215.14", 80)]  # all went to the address that was judged
    network.streams[0]._answer.clear()


@pytest.mark.parametrize(
    ("location", "status"),
    [
        ("http://127.0.0.1/", "blocked"), ("http://10.0.0.1:80/x", "blocked"), ("//169.254.169.254/latest", "blocked"),
        ("http://[::1]/", "blocked"), ("http://0x7f.1/", "blocked"), ("http://to-loopback.org/", "blocked"),
        ("http://localhost:22/", "blocked"), ("https://site.org:22/", "blocked"), ("http://other.org/", "blocked"),
        ("file:///etc/passwd", "bad_url"), ("javascript:1", "bad_url"), ("http://user@site.org/", "bad_url"),
        ("http://a\\b/", "bad_url"), ("gopher://127.0.0.1/", "bad_url"),
    ],
)  # fmt: skip
def test_each_hop_of_a_redirect_is_judged(live: Live, network: Any, location: str, status: str) -> None:
    network.names = dict(NAMES)
    sent_on = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
    network.answers = [network.PAGE, sent_on]
    page = live(allow=("site.org", "127.0.0.1", "*.org", "10.0.0.1", "0x7f.1"), deny=("other.org",)).open(
        "http://site.org/"
    )
    assert page.status == status
    assert set(network.connected) == {("93.184.215.14", 80)}


def test_only_listed_hosts_are_opened(live: Live, network: Any) -> None:
    network.names = {name: ["93.184.215.14"] for name in ("docs.org", "x.docs.org", "evil-docs.org", "code.org")}
    browser = live(allow=("Docs.org", "*.docs.org", "code.org/free"), deny=("docs.org/Answers",))
    opened = [
        "http://docs.org/x",
        "http://x.docs.org/",
        "http://a.b.docs.org.",
        "http://code.org/free",
        "http://code.org/free/x",
    ]
    refused = ["http://evil-docs.org/", "http://docs.org.evil.org/", "http://code.org/freedom", "http://code.org/",
               "http://code.org/free/../x", "http://docs.org/answers", "http://docs.org//answers/1", "http://docs.org/%61nswers",
               "http://docs.org/x/../answers?y"]  # fmt: skip
    network.names["a.b.docs.org"] = ["93.184.215.14"]
    assert [browser.open(url).status for url in opened] == ["ok"] * 5
    network.connected.clear()
    assert [browser.open(url).status for url in refused] == ["blocked"] * len(refused)
    assert network.connected == []


@pytest.mark.parametrize(
    "options",
    [
        {}, {"allow": []}, {"allow": "docs.org"}, {"allow": ["https://docs.org"]}, {"allow": [""]},
        {"allow": ["a"], "home": "file:///x"}, {"allow": ["a"], "ports": [1]},
    ],
)  # fmt: skip
def test_the_live_web_is_opened_on_purpose_only(options: dict) -> None:
    with pytest.raises(ConfigError, match="web: "):
        web.open("live", **options)


def test_an_endpoint_of_a_test_is_the_only_exception() -> None:
    policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", 4_000)}))
    policy.check(canonical("http://127.0.0.1:4000/"))
    assert policy.connect("x.org", 4_000, ["127.0.0.1"]) == ["127.0.0.1"]
    for url in ("http://127.0.0.1/", "http://127.0.0.1:4001/", "http://127.0.0.2:4000/", "http://[::1]:4000/"):
        with pytest.raises(Fault):
            policy.check(canonical(url))
    for address, port in (("127.0.0.1", 80), ("10.0.0.1", 4_000), ("8.8.8.8", 4_000), ("nonsense", 80)):
        with pytest.raises(Fault):
            policy.connect("x.org", port, [address])


def test_no_variable_of_the_environment_names_a_proxy(
    live: Live, network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    network.names = {"site.org": ["93.184.215.14"]}
    assert live().open("http://site.org/").status == "ok"
    assert set(network.connected) == {("93.184.215.14", 80)}
