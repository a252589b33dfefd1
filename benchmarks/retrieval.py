"""BM25 of this package beside Lucene, bm25s and tantivy; exact dense search beside faiss.

    python benchmarks/retrieval.py FOLDER

FOLDER gets the corpus (benchmarks/corpus.py: 200,000 passages out of Debian's documentation) and the indexes, about
1.5 GB. Each engine builds, answers 1,000 queries, and is then timed in rounds that go from engine to engine, so that
other load on the machine hits all alike. Peers are installed into benchmarks/.venvs/retrieval on first use; Lucene
needs Java and the jar that `pip install --no-deps pyserini==0.25.0` brings.
"""

import json
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import corpus
import numpy as np
from venvs import peer_python

from toolenvs import retrieval
from toolenvs.retrieval.dense import ann, exact
from toolenvs.retrieval.lucene import java

HERE = Path(__file__).parent
ROUNDS = 5
OURS = ("toolenvs-numpy", "toolenvs-numba")
COUNTS = {"bm25s-numpy": 100}
"""Queries a round, where not all 1,000."""
ENGINES = (*OURS, "lucene", "bm25s-numba", "bm25s-numpy", "tantivy")


class Worker:
    """An engine in a process of its own."""

    def __init__(self, name: str, folder: Path, jar: Path, peers: Path, *, search: bool = True) -> None:
        python = sys.executable if name in OURS else str(peers)
        command = [python, str(HERE / "peers" / "retrieval.py"), name, str(folder), str(jar)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.build = self._line()
        if not search:
            self.process.kill()
        self.found: list[list[str]] = self._line()["found"] if search else []
        self.rounds: list[dict[str, float]] = []
        self.count = COUNTS.get(name, 1000)

    def round(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.count}\n")
        self.process.stdin.flush()
        self.rounds.append(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _line(self) -> dict:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit("an engine ended before its time; what it said is above")


def peers() -> Path:
    """The interpreter that the peers are installed for."""
    return peer_python("retrieval", HERE / "peers" / "retrieval.txt", dependencies=True)


def lexical(folder: Path) -> None:
    for name in ("ours", "lucene", "bm25s", "tantivy"):
        shutil.rmtree(folder / name, ignore_errors=True)
    python, jar = peers(), java.find_jar(None)
    workers = {name: Worker(name, folder, jar, python) for name in ENGINES}
    for _ in range(ROUNDS):
        for worker in workers.values():
            worker.round()
    truth = workers["lucene"].found
    cpu = {name: min(one["cpu_ms"] for one in worker.rounds) for name, worker in workers.items()}
    print("| engine | build CPU s | build s | CPU ms a query | over Lucene | wall ms | same top 10 | overlap |")
    print("|---|---|---|---|---|---|---|---|")
    for name, worker in workers.items():
        same = sum(mine == theirs for mine, theirs in zip(worker.found, truth, strict=True))
        overlap = statistics.fmean(
            len({*mine} & {*theirs}) / len(theirs) for mine, theirs in zip(worker.found, truth, strict=True) if theirs
        )
        within = [
            mine["cpu_ms"] / other["cpu_ms"]
            for mine, other in zip(worker.rounds, workers["lucene"].rounds, strict=True)
        ]
        build = [f"{worker.build[key]:.1f}" if worker.build else "as above" for key in ("build_cpu_s", "build_s")]
        wall = min(one["wall_ms"] for one in worker.rounds)
        ratio = f"{statistics.median(within):.2f} ({min(within):.2f}-{max(within):.2f})"
        cells = [name, *build, f"{cpu[name]:.3f}", ratio, f"{wall:.3f}", f"{same}/{len(truth)}", f"{overlap:.3f}"]
        print(f"| {' | '.join(cells)} |")
        worker.close()


def dense(folder: Path) -> None:
    index = folder / "dense"
    if not (index / "dense").exists():
        retrieval.index(folder / "passages.jsonl", index, ["dense"])
    vectors = np.load(index / "dense" / "vectors.npy", mmap_mode="r")
    queries = (folder / "queries.txt").read_text("utf-8").split("\n")[:64]
    with retrieval.open(index, backend="dense") as retriever:
        asked = retriever._encoder.queries(queries)
        rank = retriever._store.rank
    flat = ann.create(vectors, "flat")
    times: dict[str, list[float]] = {"toolenvs, exact": [], "faiss Flat": []}
    for _ in range(ROUNDS):
        for name, search in (
            ("toolenvs, exact", lambda: exact.best(asked, vectors, 10, rank)),
            ("faiss Flat", lambda: ann.search(flat, asked, 10, 1)),
        ):
            started = time.process_time()
            found = search()
            times[name].append(1000 * (time.process_time() - started) / len(asked))
            if name == "toolenvs, exact":
                ours = found
    same = sum(mine[0] == theirs[0] for mine, theirs in zip(ours, found, strict=True))
    ratios = [a / b for a, b in zip(*times.values(), strict=True)]
    print(f"\ndense, {vectors.shape[0]} x {vectors.shape[1]}, 64 queries at once: same top 10 {same}/64")
    for name, each in times.items():
        print(f"  {name:18} {min(each):6.2f} CPU ms a query")
    print(f"  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


def main() -> None:
    folder = Path(sys.argv[1])
    passages, _ = corpus.build(folder)
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    print(f"Python {platform.python_version()}, {passages.stat().st_size / 1e6:.0f} MB of passages, load {load}\n")
    lexical(folder)
    dense(folder)
    print(f"\nload afterwards {' '.join(Path('/proc/loadavg').read_text().split()[:3])}")


if __name__ == "__main__":
    main()
