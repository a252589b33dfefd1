"""Search-R1's BM25 server, rebuilt from what its `retrieval_server.py` (commit a14dc3a) does; run by serve_search.py.

    python search_r1_server.py INDEX PORT

FastAPI answers `POST /retrieve` in a function of its thread pool; for each query pyserini's LuceneSearcher searches,
and the stored JSON of each hit is read and taken apart. It imports what Search-R1's file imports (torch, transformers,
datasets, faiss), listens on loopback only, and leaves the access log off, which is in its favour.
"""

import json
import os
import sys
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "none")  # pyserini's import asks for one

import datasets  # noqa: F401
import faiss  # noqa: F401
import numpy  # noqa: F401
import torch  # noqa: F401
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from pyserini.search.lucene import LuceneSearcher
from transformers import AutoConfig, AutoModel, AutoTokenizer  # noqa: F401

TOPK = 3
searcher = LuceneSearcher(sys.argv[1])
app = FastAPI()


class QueryRequest(BaseModel):
    queries: list[str]
    topk: int | None = None
    return_scores: bool = False


def search(query: str, k: int) -> tuple[list[dict[str, str]], list[float]]:
    hits = searcher.search(query, k)[:k]
    contents = [json.loads(searcher.doc(hit.docid).raw())["contents"] for hit in hits]
    documents = []
    for text in contents:
        first, *rest = text.split("\n")
        documents.append({"title": first.strip('"'), "text": "\n".join(rest), "contents": text})
    return documents, [hit.score for hit in hits]


@app.post("/retrieve")
def retrieve(request: QueryRequest) -> Any:
    result = []
    for query in request.queries:
        documents, scores = search(query, request.topk or TOPK)
        if request.return_scores:
            result.append(
                [{"document": document, "score": score} for document, score in zip(documents, scores, strict=True)]
            )
        else:
            result.append(documents)
    return {"result": result}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning")
