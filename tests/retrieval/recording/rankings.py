"""Record what Lucene finds for data/queries.json among data/passages.jsonl, and into which terms it divides each text.

    python tests/retrieval/recording/rankings.py JAR

JAR is the jar inside the wheel of pyserini 0.25.0, with its defaults (k1 = 0.9, b = 0.4); needs pyjnius and Java.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jnius_config

DATA = Path(__file__).parents[1] / "data"


def record(jar: str) -> dict[str, Any]:
    jnius_config.set_classpath(jar)
    from jnius import autoclass

    queries = json.loads((DATA / "queries.json").read_text("utf-8"))
    rows = [json.loads(line) for line in (DATA / "passages.jsonl").read_text("utf-8").splitlines()]
    analyzer = autoclass("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    utils = autoclass("io.anserini.analysis.AnalyzerUtils")
    with tempfile.TemporaryDirectory() as folder:
        texts, index = Path(folder) / "texts", Path(folder) / "index"
        texts.mkdir()
        (texts / "passages.jsonl").write_bytes((DATA / "passages.jsonl").read_bytes())
        command = ["java", "-cp", jar, "io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
        command += ["-generator", "DefaultLuceneDocumentGenerator", "-input", str(texts), "-index", str(index)]
        subprocess.run(command, check=True, capture_output=True)
        searcher = autoclass("io.anserini.search.SimpleSearcher")(str(index))
        searcher.set_bm25(0.9, 0.4)
        found = {query: [[hit.docid, hit.score] for hit in searcher.search(query, 10)] for query in queries}
    texts_ = [*queries, *(row["contents"] for row in rows)]
    return {"rankings": found, "terms": {text: list(utils.analyze(analyzer, text).toArray()) for text in texts_}}


if __name__ == "__main__":
    (DATA / "lucene.json").write_text(json.dumps(record(sys.argv[1]), ensure_ascii=False, indent=0) + "\n", "utf-8")
