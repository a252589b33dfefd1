"""CPU time of building a BM25 index of 200,000 passages: this package beside bm25s, one process each, turn about.

    python benchmarks/index_build.py FOLDER [ROUNDS]

FOLDER is that of benchmarks/retrieval.py. Both begin with the same JSON lines and end with a saved index; imports are
not counted. bm25s runs as its documentation has it: `bm25s.tokenize` with PyStemmer's "porter" and its default stop
words, the same 33 that Lucene and this package drop, then `BM25(method="lucene").index` and `save`.
"""

import shutil
import statistics
import sys
from pathlib import Path

import corpus
from retrieval import Worker, peers

ENGINES = {"toolenvs-numpy": "ours", "bm25s-numba": "bm25s"}


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    corpus.build(folder)
    used: dict[str, list[float]] = {name: [] for name in ENGINES}
    for _ in range(rounds):
        for name, part in ENGINES.items():
            shutil.rmtree(folder / part, ignore_errors=True)
            worker = Worker(name, folder, Path("none"), peers(), search=False)
            used[name].append(worker.build["build_cpu_s"])
            worker.close()
    ours, theirs = used.values()
    for name, each in used.items():
        print(f"{name:15} {' '.join(f'{cpu_s:6.2f}' for cpu_s in each)} CPU s")
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


if __name__ == "__main__":
    main()
