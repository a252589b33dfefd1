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
        # the same in other spellings
        "http://[64:ff9b::169.254.169.254]/", "http://[::FFFF:7F00:0001]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/",
        "http://[0000:0000:0000:0000:0000:0000:0000:0001]/", "http://[::ffff:100.64.0.1]/", "http://[64:ff9b::100.64.0.1]/",
        "http://[2002:6440:1::]/", "http://[2606:4700::200:5efe:a9fe:a9fe]/", "http://[2001:0:7f00:1::]/", "http://[::0.0.0.0]/",
        "http://[fe80::5efe:7f00:1]/", "http://[fe80::a9fe:a9fe]/", "http://[fec0:0:0:ffff::1]/", "http://[fdff:ffff::1]/",
        "http://[2001:20::1]/", "http://[2620:4f:8000::1]/", "http://[1::1]/", "http://[e000::1]/", "http://[ff01::1]/",
        "http://0x7f.0x0.0x0.0x1/", "http://0177.0.01/", "http://00000177.1/", "http://0x000000007f000001/", "http://0X7F.1/",
        "http://127.0x1/", "http://0x0a.1/", "http://0xa.0.0x0.01/", "http://017700000001./", "http://4294967295/", "https://0/",
        "http://127｡0｡0｡1/", "http://127．0．0．1/", "HTTP://127.0.0.1", "hTTp://localhost", "http://localhost.localdomain./",
        "http://metadata.google.internal./", "http://site。internal/", "http://xn--lcalhost-54a/", "http://8.8.8.8:081/",
        # more of clouds and containers
        "http://168.63.129.16/", "http://168.63.129.16/machine?comp=goalstate", "http://169.254.169.253/", "http://169.254.0.23/",
        "http://[fd00:ec2::23]/", "http://[fd20:ce::254]/", "http://192.0.0.170/", "http://metadata/", "http://metadata.goog/",
        "http://instance-data/", "http://instance-data.ec2.internal/", "http://host.docker.internal/", "http://kubernetes/",
        "http://x.svc.cluster.local/", "http://wpad/", "http://ip6-localhost/", "http://x.corp/", "http://x.home/",
        "http://x.private/", "http://x.test/", "http://x.invalid/", "http://site.org:2375/", "http://site.org:10250/",
        # names that lead there
        "http://127.0.0.1.nip.io/", "http://to-azure.org/", "http://to-6to4.org/", "http://to-isatap.org/", "http://rubbish.org/",
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
        # zones, brackets
        "http://[::1%25lo0]/", "http://[fe80::1%2525eth0]/", "http://[::1]%25lo/", "http://[::%31]/", "http://[v1.fe80::a]/",
        "http://[::1/", "http://::1/", "http://::ffff:127.0.0.1/", "http://[[::1]]/", "http://[127.0.0.1]/", "http://[]/",
        "http://[::ffff:127.1]/",
        # numbers that are none, or that parsers read differently
        "http://1.1.1.1.1/", "http://127.0.0.0x100/", "http://4294967296/", "http://-1/", "http://08.0.0.1/", "http://0x7g.1/",
        "http://127.0.0.1,/", "http://127.0.0.1;/", "http://127.00.00.01/", "http://127.0.0.1..nip.io/", "http://٠.٠.٠.٠/",
        "http://¹²⁷.⁰.⁰.¹/", "http://𝟙𝟚𝟟.𝟘.𝟘.𝟙/", "http://%31%32%37.0.0.1/", "http://127%2E0%2E0%2E1/",
        # names that only look like one
        "http://localhost../", "http://127.0.0.1../", "http://.localhost/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://loc\u00adalhost/",
        "http://loc\u200balhost/", "http://loc\u200calhost/", "http://\u017focalhost/", "http://xn--/", "http://xn--a/",
        "http://\ufb01le.internal/", "http://xn--localhost-/",
        # users, backslashes, slashes
        "http://127.0.0.1:80@site.org/", "http://site.org:80@127.0.0.1/", "http://site.org%40127.0.0.1/",
        "http://:pass@127.0.0.1/",
        "http://site.org;@127.0.0.1/", "http://site.org&@127.0.0.1#@x.org/", "http:\\\\127.0.0.1\\x",
        "http:/\\127.0.0.1/",
        "http:///127.0.0.1/", "http:////127.0.0.1/", "//127.0.0.1/", "/etc/passwd", "\\\\127.0.0.1\\share",
        # schemes
        "feed:http://127.0.0.1/", "blob:http://127.0.0.1/x", "wss://127.0.0.1/", "about:blank", "chrome://version",
        "ldap://127.0.0.1/", "dict://127.0.0.1:11211/stat", "sftp://127.0.0.1/", "php://filter/x", "mhtml:http://127.0.0.1/",
        "FILE:///etc/passwd", " file:///etc/passwd", "file:/etc/passwd", "file://127.0.0.1/etc/passwd",
        # ports
        "http://site.org:65616/", "http://site.org:80.1/", "http://site.org:８０/",
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
    "to-azure.org": ["168.63.129.16"],
    "to-6to4.org": ["2002:7f00:1::"],
    "to-isatap.org": ["2606:4700::5efe:10.0.0.1"],
    "rubbish.org": ["93.184.215.14", "not an address"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
}
TABLE = [(url, status) for status, urls in REFUSED.items() for url in urls]
Live = Callable[..., Browser]


def test_the_table_is_long() -> None:
    assert len(TABLE) == len(set(TABLE)) >= 270


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
                                 "http://[::ffff:8.8.8.8]/", "http://SITE.org./", "http://172.15.255.255/", "http://172.32.0.1/",
                                 "http://100.63.255.255/", "http://100.128.0.1/", "http://169.253.0.1/", "http://8.8.8.8:00080/",
                                 "http://site.org:80#@127.0.0.1/", "http://site.org?@127.0.0.1/"])  # fmt: skip
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


def test_a_name_that_changes_its_answer_within_a_chain_of_redirects(live: Live, network: Any) -> None:
    network.names = {"rebind.org": [["93.184.215.14"], ["93.184.215.14"], ["169.254.169.254"]]}
    sent_on = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    network.answers = [network.PAGE, sent_on]
    assert live().open("http://rebind.org/").status == "blocked"
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
        ("http://2130706433/", "blocked"), ("http://[::ffff:7f00:1]/", "blocked"), ("http://168.63.129.16/", "blocked"),
        ("https://to-metadata.org/", "blocked"), ("http://mixed.org/", "blocked"),
        ("//metadata.google.internal/", "blocked"),
        ("http://site.org.:22/", "blocked"), ("http://100.100.100.200/", "blocked"), ("//127.1/", "blocked"),
        ("FILE:///etc/passwd", "bad_url"), ("data:text/html,x", "bad_url"), ("http:\\\\127.0.0.1/", "bad_url"),
        ("http://[fe80::1%25lo]/", "bad_url"), ("http://127.0.0.1%2f@site.org/", "bad_url"),
        ("ftp://site.org/", "bad_url"), ("view-source:http://site.org/", "bad_url"), ("about:blank", "bad_url"),
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
