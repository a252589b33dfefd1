"""Find what a policy wrote in the environment's voice."""

import re
from collections.abc import Sequence

Range = tuple[int, int]


def imitations(turn: str, opening: str, closing: str, shields: Sequence[tuple[str, str]] = ()) -> list[Range]:
    """Ranges from each `opening` to the `closing` behind it (or to the end), and each stray `closing`.

    What stands between a pair of `shields`, such as the tags of a call, belongs to the call.
    """
    found: list[Range] = []
    shield_ends = dict(shields)
    marks = re.compile("|".join(map(re.escape, (opening, closing, *shield_ends))))
    position = 0
    while mark := marks.search(turn, position):
        end = turn.find(shield_ends.get(mark[0], closing), mark.start())
        position = len(turn) if end < 0 else end + len(shield_ends.get(mark[0], closing))
        if mark[0] not in shield_ends:
            found.append((mark.start(), position))
    return found


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
