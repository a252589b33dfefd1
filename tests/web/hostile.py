"""A server on this machine that answers by the path, mostly badly: `python hostile.py` prints its port and serves."""

import asyncio
import gzip
import sys
import zlib
from collections.abc import Awaitable, Callable

Writer = asyncio.StreamWriter
HTML = b"Content-Type: text/html\r\n"
BROTLI_BOMB = bytes.fromhex("5bffff7f0020") + b"\x00" * 400
"""What it unpacks to does not matter: nothing here may try."""


def plain(body: bytes, headers: bytes = HTML, status: bytes = b"200 OK") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body)
    return b"HTTP/1.1 " + status + b"\r\n" + headers + length + b"Connection: close\r\n\r\n" + body


def packed(body: bytes, coding: bytes = b"gzip") -> bytes:
    return plain(body, HTML + b"Content-Encoding: " + coding + b"\r\n")


def bomb(size: int) -> bytes:
    """Gzip that unpacks to `size` bytes: one flushed block after another, with an end that no reader should reach."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = packer.compress(b"a" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b"a" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * ((size >> 20) - 1) + packer.flush()


async def endless(writer: Writer, piece: bytes, pause_s: float = 0.0, first: bytes = b"") -> None:
    writer.write(first)
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause_s)


PAGES = {
    "/page-quoted": "<p>x</p><a " + " ".join(f'a{number}=">"' for number in range(180_000)) + ">y",
    "/page-attributes": ("<a " + " ".join(f"a{number:x}" for number in range(10_500)) + ">y</a>") * 31,
    "/page-nested": "x" + "<div>" * 1_000_000,
    "/page-tables": "<table><tr><td>x" * 310_000,
    "/page-cells": "<table>" + "<td>x" * 390_000,
    "/page-links": "<a href=/x>y</a>" * 120_000,
    "/page-fields": "<input name=x>" * 140_000,
    "/page-brackets": "<" * 5_000_000,
}
"""Made to keep a reader busy; the first one for minutes."""
HEAD = b"HTTP/1.1 200 OK\r\n" + HTML
GZIPPED = HEAD + b"Content-Encoding: gzip\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ANSWERS: dict[str, bytes | Callable[[Writer], Awaitable[None]]] = {
    **{path: plain(page.encode()) for path, page in PAGES.items()},
    "/good": plain(b"<title>Good</title><p>good"),
    "/gzip": packed(gzip.compress(b"<p>packed well")),
    "/gzip-members": packed(gzip.compress(b"<p>one ") + gzip.compress(b"and two")),
    "/gzip-rubbish": packed(gzip.compress(b"<p>then rubbish") + b"\0\0\0rubbish"),
    "/gzip-cut": packed(gzip.compress(bytes(range(65, 91)) * 100 + bytes(range(97, 123)) * 40)[:-12]),
    "/gzip-no": packed(b"<p>not packed"),
    "/gzip-empty": packed(b""),
    "/gzip-members-endless": lambda w: endless(w, gzip.compress(b"") * 2_000, 0, GZIPPED),
    "/gzip-bomb": packed(bomb(1 << 30)),
    "/gzip-bomb-twice": packed(gzip.compress(bomb(1 << 28)), b"gzip, gzip"),
    "/gzip-listed": packed(gzip.compress(gzip.compress(b"x")), b"gzip, gzip"),
    "/brotli": packed(BROTLI_BOMB, b"br"),
    "/deflate": packed(zlib.compress(b"x" * 1_000_000), b"deflate"),
    "/zstd": packed(b"(\xb5/\xfd" + b"x" * 100, b"zstd"),
    "/gzip-endless": lambda w: endless(w, b"\0\0\0\xff\xff" * 1_000, 0, GZIPPED + b"\x1f\x8b\x08\0\0\0\0\0\0\xff"),
    "/endless": lambda w: endless(w, b"<p>" + b"x" * 10_000, 0, HEAD + b"\r\n"),
    "/endless-chunks": lambda w: endless(w, b"1\r\nx\r\n" * 5_000, 0, CHUNKED),
    "/drip": lambda w: endless(w, b"<p>x\n", 0.05, HEAD + b"\r\n"),
    "/drip-chunks": lambda w: endless(w, b"1\r\nx\r\n", 0.05, CHUNKED),
    "/drip-headers": lambda w: endless(w, b"X-A: b\r\n", 0.05, HEAD),
    "/drip-status": lambda w: endless(w, b"H", 0.05),
    "/silent": lambda w: endless(w, b"", 0.05),
    "/continues": lambda w: endless(w, b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000, 0),
    "/early-hints": lambda w: endless(w, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 0.01),
    "/headers-endless": lambda w: endless(w, b"X-A: b\r\n" * 10_000, 0, HEAD),
    "/header-long": HEAD + b"X: " + b"y" * 1_000_000 + b"\r\n\r\nbody",
    "/chunk-extension": lambda w: endless(w, b"x" * 10_000, 0, CHUNKED + b"1;"),
    "/trailers": lambda w: endless(w, b"X-A: b\r\n" * 10_000, 0, CHUNKED + b"1\r\nx\r\n0\r\n"),
    "/short": HEAD + b"Content-Length: 1000\r\n\r\n<p>the first part",
    "/chunks-cut": CHUNKED + b"20\r\n<p>the first part",
    "/chunks-bad": CHUNKED + b"zz\r\nx\r\n",
    "/length-bad": HEAD + b"Content-Length: -1\r\n\r\nx",
    "/length-twice": HEAD + b"Content-Length: 3\r\nContent-Length: 300\r\n\r\nabc",
    "/smuggled": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
    "/closed": b"",
    "/ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "/http09": b"<p>no head at all",
    "/http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "/status-999": plain(b"x", status=b"999 Odd"),
    "/status-299": plain(b"<p>unusual but good", status=b"299 Odd"),
    "/status-204": b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    "/status-304": b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n",
    "/status-401": plain(b"x", status=b"401 Unauthorized"),
    "/status-410": plain(b"x", status=b"410 Gone"),
    "/status-503": plain(b"x", status=b"503 Busy"),
    "/nowhere": plain(b"", b"", b"302 Found"),
    "/loop": plain(b"", b"Location: /loop\r\n", b"302 Found"),
    "/loop-bodies": lambda w: endless(w, b"x" * 10_000, 0, b"HTTP/1.1 302 Found\r\nLocation: /loop-bodies\r\n\r\n"),
    "/to-good": plain(b"", b"Location: good#part\r\n", b"301 Moved"),
    "/cookies": plain(b"x", HTML + b"".join(b"Set-Cookie: c%d=%s\r\n" % (n, b"v" * 200) for n in range(300))),
    "/pdf": plain(b"%PDF-1.7 x"),
    "/png": plain(b"\x89PNG\r\n\x1a\n", b"Content-Type: image/png\r\n"),
    "/zip": plain(b"PK\x03\x04xx", b"Content-Type: text/html\r\n"),
    "/binary": plain(b"\0\1\2\3" * 100, b"Content-Type: text/plain\r\n"),
    "/film": plain(b"xxxx", b"Content-Type: video/mp4\r\n"),
    "/json": plain(b'{"a": [1, 2]}', b"Content-Type: application/json\r\n"),
    "/text": plain("zeile eins\nzeile zwei ü".encode("latin-1"), b"Content-Type: text/plain; charset=latin-1\r\n"),
    "/xhtml": plain(b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><p>strict</p></html>",
                    b"Content-Type: application/xhtml+xml\r\n"),
    "/untyped": plain(b"<!DOCTYPE html><title>T</title><p>no type", b""),
    "/charset-bad": plain("<p>gr\u00fc\u00df".encode(), b"Content-Type: text/html; charset=klingon\r\n"),
    "/utf-16": plain("<p>wide".encode("utf-16"), b"Content-Type: text/html\r\n"),
}  # fmt: skip


class Server:
    """Counts what was asked for, and keeps nothing going after a client has left."""

    def __init__(self, robots: bytes = b"") -> None:
        self.robots = robots
        self.asked: list[str] = []
        self.open = 0

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            self.asked.append(path)
            answer = ANSWERS.get(path, plain(b"", status=b"404 Not Found"))
            if path == "/robots.txt" and self.robots:
                answer = plain(self.robots, b"Content-Type: text/plain\r\n")
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()


async def _main() -> None:
    server = Server()
    print(await server.start(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the one who started us is gone


if __name__ == "__main__":
    asyncio.run(_main())
