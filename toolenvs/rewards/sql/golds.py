"""Whether a gold query can be judged by: it runs, it finds something, and its answer depends on the data."""

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any

from toolenvs.rewards.sql.breaking import broken_ties
from toolenvs.rewards.sql.careful import compare
from toolenvs.rewards.sql.outcome import Outcome, Row
from toolenvs.rewards.sql.reading import ordering_columns, outline, with_keys, wrapped

Run = Callable[[str], Outcome]
"""Runs one query on one database."""

_BREAKS = ("random()", "-random()", "random() % 101", "-(random() % 101)")
"""Terms that bring rows which tie into some order; the numbers are the same on every run."""


def check_gold(sql: str, run: Run, copies: Sequence[Run] = ()) -> str | None:
    """What is wrong with a gold query; None where nothing is.

    It must run and find at least one value that is not NULL. Where it leaves out rows by a LIMIT, it must say which are
    first, and rows that tie at either end and differ, NULLs that come first unasked and numbers that are sorted as text
    make it a matter of luck; so do ties inside it, where a subquery cuts rows or a window numbers them. On at least one
    of the changed copies, if there are any, its answer must be another.

    Args:
        sql: the gold query.
        run: runs a query on the database.
        copies: run a query on each changed copy.
    """
    gold = run(sql)
    if gold.status != "ok":
        why = getattr(gold, "error", None)
        return f"its gold query fails ({gold.status}{f': {why}' if why else ''})"
    if not gold.columns:
        return "its gold is no query: it gives no columns"
    if getattr(gold, "truncated", False):
        return f"its gold query gives more rows than are compared ({len(gold.rows)})"
    if all(cell is None for row in gold.rows for cell in row):
        return "its gold query finds nothing: no rows" if not gold.rows else "its gold query finds nothing but NULL"
    if (wrong := luck(sql, gold, run)) is not None:
        return wrong
    outcomes = [copy(sql) for copy in copies]
    if outcomes and all(outcome.status != "ok" or compare(gold, outcome).equal for outcome in outcomes):
        return f"its gold query gives the same on each of {len(outcomes)} changed copies: it does not discriminate"
    return None


def luck(sql: str, gold: Outcome, run: Run) -> str | None:
    """Why another answer to the same question may be as good, where the query keeps the first rows only; else None."""
    for by in _BREAKS:
        broken = broken_ties(sql, by)
        if broken is None or (other := run(broken)).status != "ok":
            break  # nothing to look at, or it cannot be seen: other terms would take as long
        if not compare(gold, other):
            return "its gold query cuts or numbers rows of a subquery that tie"
    read = outline(sql)
    words = [token.lower() for token in read.tokens]
    if any(word in ("random", "randomblob") and after == "(" for word, after in pairwise(words)):
        return "its gold query draws at random"
    if read.limit is None:
        return None
    if not read.ordered:
        whole = run(read.sql(0, read.limit))
        told = whole.status == "ok" and not getattr(whole, "truncated", False)
        if told and (len(whole.rows) == len(gold.rows) or len(set(whole.rows)) == 1):
            return None
        return "its gold query has a LIMIT and no order"
    found = _keyed(sql, gold, run, unlimited=True)
    first = _skipped(read.tokens[read.limit :])
    if found is None or first is None:
        return None  # what it orders by cannot be seen, or where it begins
    rows, labels = found
    keys = [row[len(gold.columns)] for row in rows]
    cuts = [at for at in (first, first + len(gold.rows)) if 0 < at < len(labels)]
    if any(labels[at - 1] == labels[at] and not _alike(rows, labels, at, len(gold.columns)) for at in cuts):
        return "its gold query cuts its rows between two that tie"
    _, _, direction, end = read.order[0]
    wanted = "nulls" in [token.lower() for token in read.tokens[direction:end]]
    if cuts and not wanted and any(key is None for key in keys[: first + len(gold.rows)]):
        return "its gold query sorts NULL among the first rows"
    if any(_numeral(a) and _numeral(b) and (float(a) < float(b)) != (a < b) for a, b in pairwise(keys)):
        return "its gold query sorts numbers that are stored as text"
    return None


def _skipped(clause: Sequence[str]) -> int | None:
    """How many rows come before the first that is kept; None where the clause does not say it in digits."""
    match clause:
        case [_, _]:
            return 0
        case [_, count, ",", _] | [_, _, _, count] if count.isdigit():
            return int(count)
    return None


def _alike(rows: Sequence[Row], labels: Sequence[Hashable], at: int, width: int) -> bool:
    """Whether those that tie with a row have the same cells, so that it does not matter which of them are kept."""
    return len({row[:width] for row, label in zip(rows, labels, strict=True) if label == labels[at]}) == 1


def _numeral(cell: object) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def order_of(sql: str, gold: Outcome, run: Run) -> list[Hashable] | None:
    """The labels by which `compare` takes the order of a query's rows; None where the query orders nothing.

    Rows that tie on what is ordered by have the same label, whether or not it is among the columns. Where that cannot
    be found out, every row has its own.
    """
    if not outline(sql).ordered:
        return None
    found = _keyed(sql, gold, run)
    if found is not None and len(found[0]) == len(gold.rows):
        return list(found[1])
    return list(range(len(gold.rows)))


def _keyed(
    sql: str, gold: Outcome, run: Run, *, unlimited: bool = False
) -> tuple[Sequence[Row], Sequence[Hashable]] | None:
    """The rows with what they are ordered by behind the gold's columns, and a label for each, the same where they tie.

    None where that cannot be found out.
    """
    width = len(gold.columns)
    places = ordering_columns(sql, gold)
    tries = [with_keys(sql, unlimited=unlimited), with_keys(sql, unlimited=unlimited, named=True)]
    tries += [wrapped(sql, width, places, unlimited=unlimited)] if places else []
    for keyed in tries:
        if keyed is not None:
            outcome = run(keyed[0])
            if outcome.status == "ok" and _one_key_each(sql, outcome, width):
                return outcome.rows, _labels([row[width:] for row in outcome.rows])
    return None


def _one_key_each(sql: str, outcome: Outcome, width: int) -> bool:
    """Whether the keys of a DISTINCT left its rows what they were."""
    return not outline(sql).distinct or len({row[:width] for row in outcome.rows}) == len(outcome.rows)


def _labels(keys: Sequence[Row]) -> list[Hashable]:
    """A label for each row by its keys, whose last says what ties; so do numbers that only rounding tells apart."""
    labels: list[Hashable] = []
    for at, key in enumerate(keys):
        ties = at > 0 and (key[-1] == keys[at - 1][-1] or all(map(_rounding, key[:-1], keys[at - 1][:-1])))
        labels.append(labels[-1] if ties else at)
    return labels


def _rounding(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-12))
