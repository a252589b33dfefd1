"""The process that the Java machine lives in. Started as a program by `toolenvs.retrieval.lucene.process`.

    python server.py SOCKET JAR INDEX K1 B HEAP

It answers JSON messages, each after its length in four bytes, on a Unix socket, a thread for each connection, and ends
when its standard input does. A Java machine does not survive a fork, so it gets a process of its own.
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any


def read(connection: socket.socket) -> Any:
    """The next message; None when the other side is gone."""
    size = int.from_bytes(_exactly(connection, 4), "big")
    return json.loads(_exactly(connection, size)) if size else None


def write(connection: socket.socket, message: Any) -> None:
    """Send one message."""
    data = json.dumps(message).encode()
    connection.sendall(len(data).to_bytes(4, "big") + data)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            return b""
        parts += part
    return bytes(parts)


class Index:
    """One Lucene index, searched through Anserini."""

    def __init__(self, jar: str, index: str, k1: float, b: float, heap: str) -> None:
        import jnius_config

        jnius_config.set_classpath(jar)
        jnius_config.add_options(f"-Xmx{heap}", "-Djava.awt.headless=true")
        from jnius import autoclass

        self._term = autoclass("org.apache.lucene.index.Term")
        self._searcher = autoclass("io.anserini.search.SimpleSearcher")(index)
        self._searcher.set_bm25(k1, b)
        paths, directory = autoclass("java.nio.file.Paths"), autoclass("org.apache.lucene.store.FSDirectory")
        reader = autoclass("org.apache.lucene.index.DirectoryReader")
        self._reader = reader.open(directory.open(paths.get(index)))

    def answer(self, asked: dict[str, Any]) -> Any:
        """What one message asks for."""
        if "queries" in asked:
            return [self._search(query, asked["k"]) for query in asked["queries"]]
        if "frequencies" in asked:
            return [self._reader.docFreq(self._term("contents", term)) for term in asked["frequencies"]]
        if "raw" in asked:
            return [self._searcher.doc_raw(key) for key in asked["raw"]]
        return self._reader.numDocs()

    def _search(self, query: str, k: int) -> list[tuple[str, float]]:
        return [(hit.docid, hit.score) for hit in self._searcher.search(query, k)]


def serve(connection: socket.socket, index: Index) -> None:
    """Answer the messages of one connection."""
    import jnius

    with connection:
        while True:
            try:
                asked = read(connection)
                if asked is None:
                    break
                try:
                    reply = {"value": index.answer(asked)}
                except Exception as error:
                    reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
                write(connection, reply)
            except OSError:
                break
    jnius.detach()


def main() -> None:
    """Serve until standard input ends."""
    path, jar, folder, k1, b, heap = sys.argv[1:]
    index = Index(jar, folder, float(k1), float(b), heap)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    Path(path + ".new").rename(path)  # who finds it can connect

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, index), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
