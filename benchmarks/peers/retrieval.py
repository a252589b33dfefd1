"""One search engine over the passages: build, then time the queries each time a line is read.

    python retrieval.py ENGINE FOLDER JAR

Prints JSON lines: {"build_cpu_s", "build_s"}, {"found": [[id, ...], ...]}, then {"cpu_ms", "wall_ms"} a query for each
line on standard input. CPU time is the process's own, all its threads, and for a build its children's too.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

K = 10
Search = Callable[[str], list[str]]


def rows(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "passages.jsonl").open(encoding="utf-8")]


def ours(folder: Path, kernel: str) -> tuple[Callable[[], object], Callable[[], Search]]:
    from toolenvs import retrieval

    def load() -> Search:
        retriever = retrieval.open(folder / "ours", kernel=kernel)
        return lambda query: [hit.id for hit in retriever.search([query], K)[0]]

    one = {"processes": 1}  # as the others build
    return lambda: retrieval.index(folder / "passages.jsonl", folder / "ours", options=one), load


def lucene(folder: Path, jar: str) -> tuple[Callable[[], object], Callable[[], Search]]:
    texts = folder / "texts"

    def build() -> None:
        texts.mkdir(exist_ok=True)
        if not (texts / "passages.jsonl").exists():
            os.link(folder / "passages.jsonl", texts / "passages.jsonl")
        command = ["java", "-cp", jar, "io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
        command += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
        command += ["-input", str(texts), "-index", str(folder / "lucene")]
        subprocess.run(command, check=True, capture_output=True)

    def load() -> Search:
        import jnius_config

        jnius_config.set_classpath(jar)
        from jnius import autoclass

        searcher = autoclass("io.anserini.search.SimpleSearcher")(str(folder / "lucene"))
        searcher.set_bm25(0.9, 0.4)
        return lambda query: [hit.docid for hit in searcher.search(query, K)]

    return build, load


def bm25s(folder: Path, backend: str) -> tuple[Callable[[], object], Callable[[], Search]]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("porter")

    def build() -> None:
        corpus = rows(folder)
        tokens = bm25s.tokenize([row["contents"] for row in corpus], stemmer=stemmer, show_progress=False)
        index = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
        index.index(tokens, show_progress=False)
        index.save(folder / "bm25s")

    def load() -> Search:
        index = bm25s.BM25.load(folder / "bm25s", mmap=False)
        if backend == "numba":
            index.backend = "numba"
            index.activate_numba_scorer()

        def search(query: str) -> list[str]:
            tokens = bm25s.tokenize([query], stemmer=stemmer, show_progress=False)
            try:
                found, _ = index.retrieve(tokens, k=K, show_progress=False, n_threads=0)
            except ValueError:  # no token of the query is known
                return []
            return [str(row) for row in found[0].tolist()]  # ids are row numbers

        return search

    return build, load


def tantivy(folder: Path, _: str) -> tuple[Callable[[], object], Callable[[], Search]]:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("contents", tokenizer_name="en_stem")
    built = schema.build()

    def build() -> None:
        (folder / "tantivy").mkdir(exist_ok=True)
        writer = tantivy.Index(built, path=str(folder / "tantivy")).writer(num_threads=1)
        for row in rows(folder):
            writer.add_document(tantivy.Document(id=[row["id"]], contents=[row["contents"]]))
        writer.commit()
        writer.wait_merging_threads()

    def load() -> Search:
        index = tantivy.Index.open(str(folder / "tantivy"))
        searcher = index.searcher()

        def search(query: str) -> list[str]:
            hits = searcher.search(index.parse_query(query, ["contents"]), K).hits
            return [searcher.doc(address)["id"][0] for _, address in hits]

        return search

    return build, load


ENGINES = {
    "toolenvs-numpy": (ours, "numpy"),
    "toolenvs-numba": (ours, "numba"),
    "lucene": (lucene, ""),
    "bm25s-numba": (bm25s, "numba"),
    "bm25s-numpy": (bm25s, "numpy"),
    "tantivy": (tantivy, ""),
}


def cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    name, folder, jar = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    make, option = ENGINES[name]
    build, load = make(folder, option or jar)
    # an engine's second kind searches what its first has built
    if name not in {"toolenvs-numba", "bm25s-numpy"}:
        started, cpu = time.perf_counter(), cpu_s()
        build()
        print(json.dumps({"build_s": time.perf_counter() - started, "build_cpu_s": cpu_s() - cpu}), flush=True)
    else:
        print("{}", flush=True)
    search = load()
    queries = (folder / "queries.txt").read_text("utf-8").split("\n")[-1001:-1]
    print(json.dumps({"found": [search(query) for query in queries]}), flush=True)
    for line in sys.stdin:
        asked = queries[: int(line)]
        started, cpu = time.perf_counter(), time.process_time()
        for query in asked:
            search(query)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - started
        print(json.dumps({"cpu_ms": 1000 * cpu / len(asked), "wall_ms": 1000 * wall / len(asked)}), flush=True)


if __name__ == "__main__":
    main()
