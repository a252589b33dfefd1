"""Find what a policy wrote in the environment's voice."""

import re
from collections.abc import Sequence

Range = tuple[int, int]


def imitations(turn: str, name: str, shields: Sequence[tuple[str, str]] = ()) -> list[Range]:
    """Ranges from each `<name>` to the `</name>` behind it (or to the end), and each stray closing tag.

    Tags count in any case, with attributes and stray spaces: a model reads them all alike. What stands between a pair
    of `shields`, such as the tags of a call, belongs to the call.
    """
    found: list[Range] = []
    shield_ends = dict(shields)
    opening, closing = _tag_patterns(name)
    marks = re.compile("|".join([*map(re.escape, shield_ends), f"(?i:(?P<closing>{closing})|{opening})"]))
    ends = re.compile(closing, re.IGNORECASE)
    position = 0
    while mark := marks.search(turn, position):
        if mark[0] in shield_ends:
            end = turn.find(shield_ends[mark[0]], mark.end())
            position = len(turn) if end < 0 else end + len(shield_ends[mark[0]])
            continue
        closed = mark if mark["closing"] else ends.search(turn, mark.end())
        position = closed.end() if closed else len(turn)
        found.append((mark.start(), position))
    return found


def _tag_patterns(name: str) -> tuple[str, str]:
    word = re.escape(name)
    return rf"<[ \t]*{word}(?:[ \t/][^<>]*)?>", rf"<[ \t]*/[ \t]*{word}[ \t]*>"


def other_turns(turn: str, turn_end: str, turn_start: str) -> list[Range]:
    """The range behind the first end-of-turn marker, or from the first start of another turn: nobody asked for it."""
    end = turn.find(turn_end) if turn_end else -1
    starts = [end + len(turn_end)] if end >= 0 else []
    starts += [start for start in [turn.find(turn_start)] if turn_start and start >= 0]
    return [(min(starts), len(turn))] if starts and turn[min(starts) :].strip() else []


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
