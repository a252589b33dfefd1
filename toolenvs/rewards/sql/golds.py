"""Whether a gold query can be judged by: it runs, it finds something, and its answer depends on the data."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from toolenvs.rewards.sql.careful import compare, ties
from toolenvs.rewards.sql.cells import plain
from toolenvs.rewards.sql.outcome import Outcome
from toolenvs.rewards.sql.reading import ordering_columns, outline, with_keys

Run = Callable[[str], Outcome]
"""Runs one query on one database."""


def check_gold(sql: str, run: Run, copies: Sequence[Run] = ()) -> str | None:
    """What is wrong with a gold query; None where nothing is.

    It must run and find at least one value that is not NULL. Where it leaves out rows by a LIMIT, it must say which are
    first, and rows that tie at either end and differ, NULLs that come first and numbers that are sorted as text make it
    a matter of luck. On at least one of the changed copies, if there are any, its answer must be another.

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
    read = outline(sql)
    if read.limit is None:
        return None
    if not read.ordered:
        whole = run(read.sql(0, read.limit))
        told = whole.status == "ok" and not getattr(whole, "truncated", False)
        if told and (len(whole.rows) == len(gold.rows) or len(set(whole.rows)) == 1):
            return None
        return "its gold query has a LIMIT and no order"
    keyed = with_keys(sql, unlimited=True)
    if keyed is not None:
        longer, keys = run(keyed[0]), [place + len(gold.columns) for place in range(keyed[1])]
    else:
        longer = run(read.sql(0, read.limit))
        found = ordering_columns(sql, longer)
        if found is None:
            return None  # what it orders by cannot be seen
        keys = found
    first = _skipped(read.tokens[read.limit :])
    if longer.status != "ok" or first is None:
        return None
    labels = [tuple(plain(row[key]) for key in keys) for row in longer.rows]
    cuts = [at for at in (first, first + len(gold.rows)) if 0 < at < len(labels)]
    if any(labels[at - 1] == labels[at] and not _alike(longer, labels, at, len(gold.columns)) for at in cuts):
        return "its gold query cuts its rows between two that tie"
    if cuts and any(label[0] is None for label in labels[: first + len(gold.rows)]):
        return "its gold query sorts NULL among the first rows"
    if any(
        _numeral(a[0]) and _numeral(b[0]) and (float(a[0]) < float(b[0])) != (a[0] < b[0]) for a, b in pairwise(labels)
    ):
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


def _alike(longer: Outcome, labels: Sequence[Hashable], at: int, width: int) -> bool:
    """Whether those that tie with a row have the same cells, so that it does not matter which of them are kept."""
    return len({row[:width] for row, label in zip(longer.rows, labels, strict=True) if label == labels[at]}) == 1


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
    places = ordering_columns(sql, gold)
    if places is not None:
        return ties(gold, places)
    keyed = with_keys(sql)
    if keyed is not None:
        outcome = run(keyed[0])
        width = len(gold.columns)
        if outcome.status == "ok" and [row[:width] for row in outcome.rows] == list(gold.rows):
            return ties(outcome, range(width, width + keyed[1]))
    return list(range(len(gold.rows)))
