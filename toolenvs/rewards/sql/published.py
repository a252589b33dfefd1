"""The scores of the published systems, exactly as each computes them, faults included.

They are for comparison with published figures; `toolenvs.rewards.sql.compare` is the better reward. All of them look
at rows only, never at the names of columns, and give 1 for an empty answer to an empty gold.

How a system *ran* its queries adds faults that no comparison can show. BIRD's evaluation and DeepRetrieval run the
prediction on a connection that can write: one that deletes the rows empties the gold's result too, and scores. Here
every query runs read-only, so those points are not to be had.
"""

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from toolenvs.rewards.sql.outcome import Outcome, Row
from toolenvs.rewards.sql.reading import has_words, lex


def bird_ex(gold: Outcome, said: Outcome) -> float:
    """BIRD's execution accuracy: the rows as sets, so that neither duplicates nor order count.

    Prediction and gold run together: where either fails, or both take too long, it is 0.
    """
    return float(gold.status == said.status == "ok" and set(gold.rows) == set(said.rows))


def skyrl_set(gold: Outcome, said: Outcome) -> float:
    """SkyRL-SQL: the rows as frozensets, 0 where either query fails. A statement that is no query has no rows."""
    return float(gold.status == said.status == "ok" and frozenset(gold.rows) == frozenset(said.rows))


def deepretrieval(gold: Outcome, said: Outcome, *, executable: float = 0.0) -> float:
    """DeepRetrieval: the rows as sets; one that runs out of time has none, and equals an empty gold.

    Args:
        gold: what the gold query gave.
        said: what the predicted one gave.
        executable: for a query that runs and is wrong: 0.3 on BIRD, 0 on Spider and WikiSQL.
    """
    rows = [_or_none(outcome) for outcome in (gold, said)]
    if None in rows:
        return 0.0
    return 1.0 if rows[0] == rows[1] else executable


def _or_none(outcome: Outcome) -> set[Row] | None:
    if outcome.status == "timeout":
        return set()
    return set(outcome.rows) if outcome.status == "ok" else None


def spider_test_suite(gold_sql: str, golds: Sequence[Outcome], saids: Sequence[Outcome]) -> float:
    """Spider's test-suite accuracy: equal results on every database of the suite, up to an order of the columns.

    Rows are a multiset; their order counts where "order by" stands anywhere in the gold, in a subquery too. The queries
    are run after `spider_rewrite`. The verdict is the published one; the published search goes through all orders of
    the columns, which takes minutes for nine, and this one does not.

    Args:
        gold_sql: the gold query, after `spider_rewrite`.
        golds: what it gave on each database.
        saids: what the predicted one gave on each, in the same order.

    Raises:
        ValueError: the gold fails on a database, or the numbers of results differ.
    """
    if any(gold.status != "ok" for gold in golds):
        raise ValueError("the gold query fails on a database of the suite")
    ordered = "order by" in gold_sql.lower()
    return float(
        all(
            said.status == "ok" and _same_up_to_columns(list(gold.rows), list(said.rows), ordered)
            for gold, said in zip(golds, saids, strict=True)
        )
    )


def spider_rewrite(sql: str, *, keep_distinct: bool = False) -> str:
    """A query as the test suite runs it, gold and prediction alike: edited as text, literals included.

    Spaces inside `> =`, `< =` and `! =` go, and so does every DISTINCT unless it is kept: `count(DISTINCT a)` becomes
    `count( a)`. The year of `CURDATE()` is 2020.
    """
    for apart in ("> =", "< =", "! ="):
        sql = sql.replace(apart, apart.replace(" ", ""))
    if not keep_distinct:
        sql = "".join("" if token.lower() == "distinct" else token for token in lex(sql))
    return _YEAR.sub("2020", sql)


_YEAR = has_words("YEAR", "(", "CURDATE", "(", ")", ")")


def _same_up_to_columns(gold: list[Row], said: list[Row], ordered: bool) -> bool:
    if not gold and not said:
        return True
    if len(gold) != len(said) or len(gold[0]) != len(said[0]):
        return False
    ours, theirs = [_unordered(row) for row in gold], [_unordered(row) for row in said]
    if ours != theirs if ordered else set(ours) != set(theirs):
        return False
    mine, other = list(zip(*gold, strict=True)), list(zip(*said, strict=True))
    if ordered:  # a column stands for one that is the same from top to bottom, whichever it is
        left = list(other)
        for column in mine:
            if column not in left:
                return False
            left.remove(column)
        return True
    return any(True for _ in _orders(mine, other, (), [()] * len(gold), [()] * len(said)))


def _orders(
    mine: list[tuple[Any, ...]],
    other: list[tuple[Any, ...]],
    taken: tuple[int, ...],
    gold: list[Row],
    said: list[Row],
) -> Iterator[tuple[int, ...]]:
    """Orders of the columns under which the rows are the same multiset, built column by column."""
    if Counter(gold) != Counter(said):
        return
    if len(taken) == len(mine):
        yield taken
        return
    column = mine[len(taken)]
    counts, tried = Counter(column), []
    longer = [(*row, cell) for row, cell in zip(gold, column, strict=True)]
    for place, candidate in enumerate(other):
        if place in taken or candidate in tried or Counter(candidate) != counts:
            continue
        tried.append(candidate)  # its double would fare no better
        theirs = [(*row, cell) for row, cell in zip(said, candidate, strict=True)]
        yield from _orders(mine, other, (*taken, place), longer, theirs)


def _unordered(row: Row) -> Row:
    return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))


def intercode(gold: Outcome, said: Outcome) -> float:
    """InterCode-SQL: intersection over union of the rows as text, times Kendall's tau of those in both.

    Tau-b is of the texts themselves, pair by pair in the order in which they came, and undefined for a single row or
    rows all alike; then the first factor stands alone. Rows in reverse order score below 0. A prediction that failed,
    or is no query, is 0.
    """
    if said.status != "ok" or not said.columns:
        return 0.0
    ours = [str(row) for row in said.rows]
    theirs = [str(row) for row in gold.rows] if gold.status == "ok" else []
    shared, union = Counter(ours) & Counter(theirs), Counter(ours) | Counter(theirs)
    if not union:
        return 1.0
    score = shared.total() / union.total()
    tau = _tau_b(_first(ours, shared), _first(theirs, shared))
    return score if tau is None else round(tau * score, 2)


def _first(texts: Sequence[str], counts: Counter[str]) -> list[str]:
    """The texts that are counted, each as often as it is counted, in order."""
    left = Counter(counts)
    kept = []
    for text in texts:
        if left[text] > 0:
            left[text] -= 1
            kept.append(text)
    return kept


def _tau_b(x: Sequence[str], y: Sequence[str]) -> float | None:
    """Kendall's tau-b of two sequences of the same length; None where one has no two different values."""
    pairs = sorted(zip(x, y, strict=True))
    total = _choose(len(pairs))
    tied_x, tied_y = (sum(map(_choose, Counter(values).values())) for values in (x, y))
    tied_both = sum(map(_choose, Counter(pairs).values()))
    if total in (tied_x, tied_y):
        return None
    discordant = 0
    seen: list[str] = []
    for _, value in pairs:  # among equal x, y rises: no pair of them is counted
        discordant += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    concordant = total - tied_x - tied_y + tied_both - discordant
    return (concordant - discordant) / math.sqrt((total - tied_x) * (total - tied_y))


def _choose(n: int) -> int:
    return n * (n - 1) // 2


METRICS: dict[str, Callable[[Outcome, Outcome], float]] = {
    "bird_ex": bird_ex,
    "skyrl_set": skyrl_set,
    "deepretrieval": deepretrieval,
    "deepretrieval_bird": partial(deepretrieval, executable=0.3),
    "intercode": intercode,
}
"""Those of one pair of results, by the name that a page gives; `spider_test_suite` takes several."""
