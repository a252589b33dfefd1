"""Whether two collections hold the same rows, each as often, where floating-point cells may be a little apart.

Sorting and comparing is not enough: a difference in the last digit changes the order, and with it every later row. So
rows are grouped by what must be equal exactly, and paired within their group; rows stay whole.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from toolenvs.rewards.sql.cells import Tolerance
from toolenvs.rewards.sql.outcome import Row

_MAX_COMPARED = 2_000_000
"""Pairs of rows looked at before two results are taken for different."""


def same_rows(gold: Sequence[Row], said: Sequence[Row], tolerance: Tolerance) -> bool:
    """Whether every row of one has a row of the other for itself. Cells are as `plain` gives them."""
    if len(gold) != len(said):
        return False
    if Counter(gold) == Counter(said):
        return True
    floating = [
        place
        for place in range(len(gold[0]))
        if any(isinstance(row[place], float) for rows in (gold, said) for row in rows)
    ]
    if not floating:
        return False
    groups: dict[Row, tuple[list[Row], list[Row]]] = {}
    for side, rows in enumerate((gold, said)):
        for row in rows:
            key = tuple(
                _FLOATING if place in floating and isinstance(cell, int | float) else cell
                for place, cell in enumerate(row)
            )
            groups.setdefault(key, ([], []))[side].append(row)
    budget = [_MAX_COMPARED]
    return all(
        _paired(ours, theirs, [place for place in floating if key[place] is _FLOATING], tolerance, budget)
        for key, (ours, theirs) in groups.items()
    )


_FLOATING: Any = object()


def _paired(gold: list[Row], said: list[Row], places: list[int], tolerance: Tolerance, budget: list[int]) -> bool:
    """Whether the rows of one group can be paired."""
    if len(gold) != len(said):
        return False
    if not places:
        return True  # equal in every cell

    def numbers(row: Row) -> tuple[float, ...]:
        return tuple(row[place] for place in places)

    ours, theirs = sorted(map(numbers, gold)), sorted(map(numbers, said))
    if all(_close(a, b, tolerance) for a, b in zip(ours, theirs, strict=True)):
        return True
    if len(places) == 1:  # on a line, pairing in order is as good as any other
        return False
    return _matching(ours, theirs, tolerance, budget)


def _close(a: tuple[float, ...], b: tuple[float, ...], tolerance: Tolerance) -> bool:
    return all(map(tolerance.same, a, b))


def _matching(
    ours: list[tuple[float, ...]], theirs: list[tuple[float, ...]], tolerance: Tolerance, budget: list[int]
) -> bool:
    """A perfect matching by augmenting paths; False too where the budget is spent."""
    near = _neighbours(ours, theirs, tolerance, budget)
    if near is None:
        return False
    partner: dict[int, int] = {}  # of theirs -> ours
    for start in range(len(ours)):
        came_from: dict[int, int] = {}  # of theirs -> the one of ours that reached it
        queue = deque([start])
        free = -1
        while queue and free < 0:
            at = queue.popleft()
            for other in near[at]:
                if other not in came_from:
                    came_from[other] = at
                    if other not in partner:
                        free = other
                        break
                    queue.append(partner[other])
        if free < 0:
            return False
        taken = {mine: other for other, mine in partner.items() if mine in came_from.values()}
        while free >= 0:  # back along the path
            mine = came_from[free]
            partner[free] = mine
            free = -1 if mine == start else taken[mine]
    return True


def _neighbours(
    ours: list[tuple[float, ...]], theirs: list[tuple[float, ...]], tolerance: Tolerance, budget: list[int]
) -> list[list[int]] | None:
    """For each row, the rows of the other side that are close to it; None where there are too many to look at."""
    width = len(ours[0])
    along = max(range(width), key=lambda place: len({row[place] for row in theirs}))  # tells the most rows apart
    ranked = sorted(range(len(theirs)), key=lambda row: theirs[row][along])
    values = [theirs[row][along] for row in ranked]
    near = []
    for row in ours:
        value = row[along]
        slack = 2 * max(tolerance.relative * abs(value), tolerance.absolute)
        if tolerance.decimals is not None:
            slack = max(slack, 10.0**-tolerance.decimals)
        low, high = bisect_left(values, value - slack), bisect_right(values, value + slack)
        budget[0] -= high - low
        if budget[0] < 0:
            return None
        near.append([other for other in ranked[low:high] if _close(row, theirs[other], tolerance)])
    return near
