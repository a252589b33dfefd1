"""Find what a policy wrote in the environment's voice."""

from collections.abc import Sequence

Range = tuple[int, int]


def imitations(turn: str, opening: str, closing: str, *, stray_closings: bool = True) -> list[Range]:
    """Ranges from each `opening` to the `closing` behind it (or to the end), and each stray `closing`."""
    found: list[Range] = []
    position = 0
    while True:
        start = turn.find(opening, position)
        stray = turn.find(closing, position) if stray_closings else -1
        if start < 0 and stray < 0:
            return found
        if stray >= 0 and (start < 0 or stray < start):
            start = stray
        end = turn.find(closing, start)
        position = len(turn) if end < 0 else end + len(closing)
        found.append((start, position))


def behind_turn_end(turn: str, turn_end: str) -> list[Range]:
    """The range behind the first end-of-turn marker: nothing there was asked for."""
    start = turn.find(turn_end) if turn_end else -1
    behind = start + len(turn_end)
    return [(behind, len(turn))] if start >= 0 and turn[behind:].strip() else []


def merge(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The union of `ranges`, in order, as disjoint non-empty ranges."""
    merged: list[Range] = []
    for start, end in sorted(r for r in ranges if r[0] < r[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def blank(turn: str, ranges: Sequence[Range]) -> str:
    """`turn` with NULs in `ranges`, so that positions stay and nothing in them is parsed."""
    for start, end in ranges:
        turn = turn[:start] + "\0" * (end - start) + turn[end:]
    return turn
