"""The search server next to Search-R1's: requests a second, latency, CPU a request and memory, at 1 to 64 clients.

    python benchmarks/serve_search.py FOLDER [--rounds 5] [--seconds 4]

FOLDER gets the corpus (benchmarks/corpus.py: 200,000 passages) and both indexes, about 1 GB. `toolenvs serve search`
runs in one process, without its cache, so that every query is searched. Beside it runs Search-R1's BM25 server, rebuilt
on FastAPI and pyserini (`peers/search_r1_server.py` says how), in a virtual environment made on first use; Java 11 or
newer is needed. Clients are keep-alive connections of one process, each with one query a request, three passages,
scores. The servers take turns within a round, so that other load on the machine hits both; ratios are of neighbours.
CPU is that of the server's process with all its threads, from /proc; memory is PSS after the last round, mapped files
included.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import corpus
from venvs import peer_python

from toolenvs import retrieval
from toolenvs.retrieval.lucene import java

HERE = Path(__file__).parent
CLIENTS = (1, 16, 64)
TICKS = os.sysconf("SC_CLK_TCK")
BARS = {"requests": 3.5, "cpu": 0.25, "memory": 0.7}
"""At 16 and 64 clients: at least so many times the requests, at most so much of the CPU a request and of the memory."""


class Client(asyncio.Protocol):
    """One connection: sends a request, reads the answer, sends the next."""

    def __init__(self, requests: Iterator[bytes], times_s: list[float]) -> None:
        self.requests, self.times_s = requests, times_s
        self.data = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.began_s = time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, blank, body = self.data.partition(b"\r\n\r\n")
        if not blank:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        assert head.startswith(b"HTTP/1.1 200"), self.data[:300]
        assert body.startswith(b'{"result"'), self.data[:300]
        self.times_s.append(time.perf_counter() - self.began_s)
        self.data = b""
        self.send()


def body(queries: list[str]) -> bytes:
    return json.dumps({"queries": queries, "topk": 3, "return_scores": True}).encode()


def request(queries: list[str]) -> bytes:
    head = "POST /retrieve HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: python-requests/2.32.3\r\nAccept: */*\r\n"
    content = body(queries)
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def drive(port: int, queries: list[str], clients: int, seconds: float, sender: Any) -> None:
    """In a process of its own."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        times_s: list[float] = []

        def requests(first: int) -> Iterator[bytes]:
            number = first
            while True:
                yield made[number % len(made)]
                number += clients

        made = [request([query]) for query in queries]
        transports = []
        for number in range(clients):
            # each of its own queries, that no two ask the same
            transport, _ = await loop.create_connection(
                lambda number=number: Client(requests(number), times_s), "127.0.0.1", port
            )
            transports.append(transport)
        await asyncio.sleep(0.5)
        times_s.clear()
        sender.send("started")
        began_s = time.perf_counter()
        await asyncio.sleep(seconds)
        sender.send((list(times_s), time.perf_counter() - began_s))
        for transport in transports:
            transport.abort()

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:13]) / TICKS


def pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def measure(port: int, pid: int, queries: list[str], clients: int, seconds: float) -> dict[str, float]:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=drive, args=(port, queries, clients, seconds, sender))
    process.start()
    assert receiver.recv() == "started"
    before_s = cpu_s(pid)
    times_s, took_s = receiver.recv()
    used_s = cpu_s(pid) - before_s
    process.join()
    return {
        "per_s": len(times_s) / took_s,
        "p50_ms": statistics.median(times_s) * 1000,
        "cpu_ms": used_s * 1000 / len(times_s),
    }


def lucene(folder: Path) -> Path:
    """An index with the passages stored, as Search-R1's server wants it."""
    index, texts = folder / "lucene-raw", folder / "texts"
    if not list(index.glob("segments_*")):
        texts.mkdir(exist_ok=True)
        if not (texts / "passages.jsonl").exists():
            os.link(folder / "passages.jsonl", texts / "passages.jsonl")
        command = ["java", "-cp", str(java.find_jar(None)), "io.anserini.index.IndexCollection", "-storeRaw"]
        command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
        subprocess.run([*command, "-input", str(texts), "-index", str(index)], check=True, capture_output=True)
    return index


def peers() -> Path:
    """The interpreter that pyserini is installed for. One of its requirements does not build here, and is not used."""
    return peer_python("search_r1", HERE / "peers" / "search_r1.txt")


@contextmanager
def serving(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(1200):
                if server.poll() is not None:
                    raise SystemExit(f"{command} ended with {server.returncode}")
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield server
        finally:
            server.send_signal(signal.SIGTERM)


def answers(port: int, queries: list[str]) -> list[list[tuple[str, float]]]:
    """Contents and scores, as a client reads them."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/retrieve", body(queries), {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())["result"]
    connection.close()
    return [[(item["document"]["contents"], item["score"]) for item in hits] for hits in found]


def same(ours: list[tuple[str, float]], theirs: list[tuple[str, float]]) -> bool:
    if [text for text, _ in ours] != [text for text, _ in theirs]:
        return False
    return all(abs(mine - other) < 2e-4 for (_, mine), (_, other) in zip(ours, theirs, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--ports", type=int, nargs=2, default=(18_300, 18_301))
    options = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    folder: Path = options.folder
    passages, asked = corpus.build(folder)
    queries = asked.read_text("utf-8").splitlines()
    if not (folder / "ours" / "bm25").is_dir():
        retrieval.index(passages, folder / "ours")
    here, there = options.ports
    ours = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "search", str(folder / "ours")]
    ours += ["--port", str(here), "--cache", "0"]
    theirs = [str(peers()), str(HERE / "peers" / "search_r1_server.py"), str(lucene(folder)), str(there)]
    with ExitStack() as stack:
        servers = {
            "toolenvs": (here, stack.enter_context(serving(ours, here)).pid),
            "Search-R1": (there, stack.enter_context(serving(theirs, there)).pid),
        }
        found = [answers(port, queries[:300]) for port, _ in servers.values()]
        print(f"same three passages and scores: {sum(map(same, *found))} of {len(found[0])} queries")
        print(f"{os.cpu_count()} cores, load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
        for port, pid in servers.values():  # warm: Java compiles what is used much
            measure(port, pid, queries, 16, options.seconds)
        figures: dict[tuple[str, int], list[dict[str, float]]] = {}
        for _ in range(options.rounds):
            for clients in CLIENTS:
                for name, (port, pid) in servers.items():
                    figures.setdefault((name, clients), []).append(
                        measure(port, pid, queries, clients, options.seconds)
                    )
        memory = {name: pss_mb(pid) for name, (_, pid) in servers.items()}
    return report(figures, memory)


def report(figures: dict[tuple[str, int], list[dict[str, float]]], memory: dict[str, float]) -> int:
    print("\n| clients | server | requests/s | p50 ms | CPU ms a request | requests/s over | CPU over |")
    print("|---|---|---|---|---|---|---|")
    holds = memory["toolenvs"] <= BARS["memory"] * memory["Search-R1"]
    for clients in CLIENTS:
        pairs = list(zip(figures["toolenvs", clients], figures["Search-R1", clients], strict=True))
        ratios = {key: [mine[key] / other[key] for mine, other in pairs] for key in ("per_s", "cpu_ms")}
        for name in ("toolenvs", "Search-R1"):
            rounds = figures[name, clients]
            cells = [
                f"{statistics.median(one[key] for one in rounds):.{digits}f}"
                for key, digits in (("per_s", 0), ("p50_ms", 2), ("cpu_ms", 3))
            ]
            over = [
                f"{statistics.median(ratios[key]):.2f} ({min(ratios[key]):.2f}-{max(ratios[key]):.2f})"
                if name == "toolenvs"
                else "1"
                for key in ("per_s", "cpu_ms")
            ]
            print(f"| {' | '.join([str(clients), name, *cells, *over])} |")
        if clients > 1:
            holds &= statistics.median(ratios["per_s"]) >= BARS["requests"]
            holds &= statistics.median(ratios["cpu_ms"]) <= BARS["cpu"]
    print(
        f"\nmemory (PSS): {', '.join(f'{name} {mb:.0f} MB' for name, mb in memory.items())}; "
        f"ratio {memory['toolenvs'] / memory['Search-R1']:.2f}"
    )
    print(f"bars, at 16 and 64 clients {BARS}: {'hold' if holds else 'DO NOT HOLD'}")
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
