"""Sites from folders, WARC files and traffic."""

import gzip
import os
import uuid
from pathlib import Path

import httpx
import pytest

from toolenvs.errors import ConfigError
from toolenvs.web.record import Recorder, SiteWriter, from_folder, from_warc
from toolenvs.web.store import PageStore

URL = "https://site.test/docs/"


def test_a_folder_stands_where_a_server_would_put_it(tmp_path: Path) -> None:
    root = tmp_path / "html"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "index.html").write_text("<h1>Home</h1>")
    (root / "sub" / "index.html").write_text("<h1>Sub</h1>")
    (root / "sub" / "a b.txt").write_text("text")
    (root / ".git" / "config").write_text("secret")
    (root / "left.js").write_text("no")
    (tmp_path / "outside.html").write_text("secret")
    os.symlink(tmp_path / "outside.html", root / "outside.html")
    os.symlink(root / "index.html", root / "alias.html")
    with SiteWriter(tmp_path / "a.site") as writer:
        assert from_folder(writer, root, URL, keep=lambda path: path.suffix != ".js") == 4
    with PageStore(tmp_path / "a.site") as store:
        assert store.urls() == [
            URL.rstrip("/"), URL, URL + "alias.html", URL + "index.html", URL + "sub", URL + "sub/",
            URL + "sub/a%20b.txt", URL + "sub/index.html",
        ]  # fmt: skip
        assert store.get(URL + "sub/a%20b.txt").header("content-type") == "text/plain"
        assert store.get(URL + "index.html").header("content-type") == "text/html"
        for folder in (URL, URL.rstrip("/"), URL + "sub", URL + "sub/"):
            page = store.get(folder)
            assert page.status == 301
            assert store.get(page.header("location")).status == 200


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with SiteWriter(tmp_path / "a.site") as writer:
        with pytest.raises(ConfigError, match="no folder"):
            from_folder(writer, tmp_path / "none", URL)
        writer.add(URL, b"")


def _warc(path: Path, answers: list[tuple[str, str, list[tuple[str, str]], bytes]]) -> None:
    """Written by hand after ISO 28500, each record a member of its own where packed."""
    records = [_record(URL, "request", b"GET / HTTP/1.1\r\n\r\n")]
    for url, status, headers, body in answers:
        head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *(f"{key}: {value}" for key, value in headers)))
        records.append(_record(url, "response", head.encode() + b"\r\n" + body))
    pack = gzip.compress if path.suffix == ".gz" else bytes
    path.write_bytes(b"".join(pack(record) for record in records))


def _record(url: str, kind: str, block: bytes) -> bytes:
    lines = (
        "WARC/1.0", f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>", f"WARC-Target-URI: {url}",
        "WARC-Date: 2024-01-01T00:00:00Z", f"Content-Type: application/http; msgtype={kind}",
        f"Content-Length: {len(block)}", "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode() + block + b"\r\n\r\n"


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_answers_of_a_warc_file(tmp_path: Path, name: str) -> None:
    page, html = gzip.compress(b"<p>packed</p>"), [("Content-Type", "text/html")]
    _warc(
        tmp_path / name,
        [
            (URL, "200 OK", html, b"<p>first</p>"),
            (URL, "200 OK", html, b"<p>last</p>"),
            (URL + "packed", "200 OK", [*html, ("Content-Encoding", "gzip")], page),
            (URL + "gone", "404 Not Found", html, b"gone"),
            (URL + "chunked", "200 OK", [*html, ("Transfer-Encoding", "chunked")], b"5\r\n<p>ab\r\n0\r\n\r\n"),
            ("dns:site.test", "200 OK", [], b"127.0.0.1"),
        ],
    )
    with SiteWriter(tmp_path / "a.site") as writer:
        assert from_warc(writer, tmp_path / name) == 5
    with PageStore(tmp_path / "a.site") as store:
        assert [store.get(url).body for url in store.urls()] == [b"<p>last</p>", b"<p>ab", b"gone", b"<p>packed</p>"]
        assert store.get(URL + "gone").status == 404
        assert all(store.get(url).headers == (("content-type", "text/html"),) for url in store.urls())


@pytest.mark.parametrize("content", [b"", b"no WARC file at all\r\n\r\n" * 20, None])
def test_what_is_no_warc_file_is_told(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "a.warc").write_bytes(content)
    with (
        pytest.raises(ConfigError, match="cannot be read as a WARC file|no page"),
        SiteWriter(tmp_path / "a.site") as writer,
    ):
        from_warc(writer, tmp_path / "a.warc")


async def test_what_a_browser_loads_is_kept(tmp_path: Path) -> None:
    packed = gzip.compress(b"<p>packed</p>")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/packed":
            return httpx.Response(
                200, headers={"content-encoding": "gzip", "set-cookie": "a=1"}, stream=httpx.ByteStream(packed)
            )
        return httpx.Response(200, headers={"content-type": "text/html"}, stream=httpx.ByteStream(b"<p>page</p>"))

    with SiteWriter(tmp_path / "a.site") as writer:
        async with httpx.AsyncClient(transport=Recorder(httpx.MockTransport(answer), writer)) as client:
            assert (await client.get("https://site.test/")).text == "<p>page</p>"
            assert (await client.get("https://site.test/packed")).text == "<p>packed</p>"
            await client.post("https://site.test/form", data={"a": "1"})
    with PageStore(tmp_path / "a.site") as store:
        assert store.urls() == ["https://site.test/", "https://site.test/packed"]
        assert store.get("https://site.test/packed").body == packed
        assert store.get("https://site.test/packed").headers == (("content-encoding", "gzip"),)
