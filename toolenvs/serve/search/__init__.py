"""A retriever behind HTTP, in the dialects that the search agents of the field speak.

Search-R1's `POST /retrieve`, SkyRL-Gym's and GEM's variants of it, ASearcher's `/retrieve` and `/access`, R1-Searcher's
`POST /queries`; `/health` and `/metrics` besides. `toolenvs.retrieval.http` is the client of all of them.
"""

from toolenvs.serve.search.app import build
from toolenvs.serve.search.settings import Settings

__all__ = ["Settings", "build"]
