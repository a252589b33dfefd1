"""One careful comparison: what may differ between the results of two queries that answer the same question.

- Rows are a multiset: how often a row comes counts. They are compared whole; columns are never taken apart.
- Their order counts only where the task says so, and rows that tie on what is ordered by may swap.
- Columns may be named in any way. They must come in the gold's order, unless their names, or their types, leave one
  choice only. More columns than the gold's are wrong, unless the task allows them.
- Cells are compared as `toolenvs.rewards.sql.cells` says.
- A query that failed, was refused, ran out of its budget or is no query never equals anything.

The faults in published scorers that each rule answers to are in `published`.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from toolenvs.rewards.sql.cells import Tolerance, kind, plain
from toolenvs.rewards.sql.outcome import Outcome, Row
from toolenvs.rewards.sql.pairing import same_rows

_EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two results are the same."""

    equal: bool
    reason: str
    """In few words, what differs; "match" where nothing does."""

    def __bool__(self) -> bool:
        return self.equal


def compare(
    gold: Outcome,
    said: Outcome,
    *,
    order: Sequence[Hashable] | None = None,
    tolerance: Tolerance = _EXACT,
    extra_columns: bool = False,
) -> Comparison:
    """Hold a result against the gold's.

    Args:
        gold: what the gold query gave; it must have run.
        said: what the query that is judged gave.
        order: None where the order of rows does not count; else one label for each row of the gold, equal for
            neighbours that tie and may swap: see `ties`.
        tolerance: between floating-point numbers.
        extra_columns: whether the result may have columns besides the gold's.

    Raises:
        ValueError: the gold did not run or is no query, or there are not as many labels as rows.
    """
    if gold.status != "ok" or not gold.columns:
        raise ValueError(f"a gold must be a query that runs; this one has status {gold.status!r}")
    if order is not None and len(order) != len(gold.rows):
        raise ValueError(f"{len(order)} labels for {len(gold.rows)} rows of the gold")
    if said.status != "ok":
        return Comparison(False, said.status)
    if not said.columns:
        return Comparison(False, "no query")
    if len(said.columns) < len(gold.columns) or (len(said.columns) > len(gold.columns) and not extra_columns):
        return Comparison(False, f"{len(said.columns)} columns for {len(gold.columns)}")
    if len(said.rows) != len(gold.rows):
        return Comparison(False, f"{len(said.rows)} rows for {len(gold.rows)}")
    if len(said.columns) == len(gold.columns) and said.rows == gold.rows:  # as most right ones are
        return Comparison(True, "match")
    wanted = [tuple(map(plain, row)) for row in gold.rows]
    given = [tuple(map(plain, row)) for row in said.rows]
    unordered = False
    for places in _assignments(gold, said):
        rows = [tuple(row[place] for place in places) for row in given]
        if _runs_equal(wanted, rows, order, tolerance):
            return Comparison(True, "match")
        unordered = unordered or (order is not None and same_rows(wanted, rows, tolerance))
    return Comparison(False, "order" if unordered else "rows")


def ties(gold: Outcome, columns: Sequence[int]) -> list[Hashable]:
    """The labels of a result that is ordered by these of its columns, counted from 0."""
    return [tuple(plain(row[column]) for column in columns) for row in gold.rows]


def _runs_equal(
    gold: Sequence[Row], said: Sequence[Row], order: Sequence[Hashable] | None, tolerance: Tolerance
) -> bool:
    if order is None:
        return same_rows(gold, said, tolerance)
    start = 0
    for _, run in groupby(order):
        end = start + sum(1 for _ in run)
        if not same_rows(gold[start:end], said[start:end], tolerance):
            return False
        start = end
    return True


def _assignments(gold: Outcome, said: Outcome) -> Iterator[tuple[int, ...]]:
    """The columns of a result that may stand for the gold's, at most three ways: by place, by name, by type."""
    width = len(gold.columns)
    tried = {tuple(range(width))}
    yield from tried
    for names, others in (
        (_names(gold), _names(said)),
        (_types(gold), _types(said)),
    ):
        known = [name for name in names if name is not None and others.count(name) == 1]
        if len(known) == width == len(set(known)):
            places = tuple(others.index(name) for name in known)
            if places not in tried:
                tried.add(places)
                yield places


def _names(outcome: Outcome) -> list[str | None]:
    return [name.casefold() for name in outcome.columns]


def _types(outcome: Outcome) -> list[str | None]:
    """For each column the one kind of its cells, NULL aside; None where there is none, or more than one."""
    kinds = [{kind(row[place]) for row in outcome.rows} - {"null"} for place in range(len(outcome.columns))]
    return [found.pop() if len(found) == 1 else None for found in kinds]
