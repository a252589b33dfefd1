"""The SQL judge: whether two queries gave the same result, and the scores that published systems give.

>>> from toolenvs.rewards import sql
>>> gold = sql.Table(("name", "plays"), (("Ada", 3), ("Bel", 0.1 + 0.2)))
>>> sql.compare(gold, sql.Table(("n", "p"), (("Bel", 0.3), ("Ada", 3)))).equal
True
>>> sql.compare(gold, sql.Table(("n", "p"), (("Bel", 0.3), ("Ada", 3), ("Ada", 3)))).reason
'3 rows for 2'

One state of a database cannot tell all queries apart: a `Suite` has changed copies, on which they are run too.
"""

from toolenvs.rewards.sql.boundaries import Boundary, boundaries
from toolenvs.rewards.sql.careful import Comparison, compare, ties
from toolenvs.rewards.sql.cells import Tolerance
from toolenvs.rewards.sql.golds import check_gold, order_of
from toolenvs.rewards.sql.outcome import Outcome, Table
from toolenvs.rewards.sql.published import (
    METRICS,
    bird_ex,
    deepretrieval,
    intercode,
    skyrl_set,
    spider_rewrite,
    spider_test_suite,
)
from toolenvs.rewards.sql.reading import Outline, ordering_columns, outline, with_keys
from toolenvs.rewards.sql.suite import Suite, planted

__all__ = [
    "METRICS", "Boundary", "Comparison", "Outcome", "Outline", "Suite", "Table", "Tolerance", "bird_ex", "boundaries",
    "check_gold", "compare", "deepretrieval", "intercode", "order_of", "ordering_columns", "outline", "planted",
    "skyrl_set", "spider_rewrite", "spider_test_suite", "ties", "with_keys",
]  # fmt: skip
