"""BIRD's evaluation, as NL2SQL360 carries it; see worker.py. The queries stand in queries.json, in this folder."""

import importlib.util
import json
import sys
import types
from collections.abc import Callable, Generator
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"nl2sql360": version("nl2sql360"), "func-timeout": version("func_timeout")}
FOUND = json.loads(Path("queries.json").read_text())
QUERIES, NEW = FOUND["golds"], FOUND["new"]
FRESH = {kind: iter(queries) for kind, queries in NEW["queries"].items()}  # no case asks what another one has asked
TIMEOUT_S = 30.0

# the packages around it import all of its metrics, with nltk and SQLAlchemy; they stay out of the process
found = importlib.util.find_spec("nl2sql360")
assert found is not None
assert found.submodule_search_locations is not None
where = Path(next(iter(found.submodule_search_locations)))
for name, folder in (("nl2sql360", where), ("nl2sql360.evaluator", where / "evaluator")):
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
from nl2sql360.evaluator.bird_eval import bird_ex  # noqa: E402


def one_by_one() -> Case:
    for one in cycle(QUERIES):
        sql, file = one["sql"], one["file"]
        found = yield lambda sql=sql, file=file: bird_ex.execute_model(sql, sql, file, 0, TIMEOUT_S, "SQLite")
        assert found["res"] == 1


def in_a_pool() -> Case:
    for one in cycle(QUERIES):
        pairs, files = [(one["sql"], one["sql"])], [one["file"]]
        found = yield lambda pairs=pairs, files=files: bird_ex.run_sqls_parallel(pairs, files, 1, TIMEOUT_S)
        assert found[0]["res"] == 1


def judged() -> Case:
    gold, file = NEW["gold"], NEW["file"]
    for said in FRESH["right"]:
        found = yield lambda said=said: bird_ex.execute_model(said, gold, file, 0, TIMEOUT_S, "SQLite")
        assert found["res"] == 1


CASES = {"score": one_by_one, "pool": in_a_pool, "judged": judged}
