"""Find what a policy wrote in the environment's voice."""

import re
from collections.abc import Sequence

Range = tuple[int, int]


class Imitations:
    """Finds the observation tag `<name>`, which only the environment may write.

    Tags count in any case, with attributes and stray spaces: a model reads them all alike. What stands between a pair
    of `shields`, such as the tags of a call, belongs to the call; one that is not closed shields nothing. Where the tag
    is not spelled `<name>` and `</name>`, `spelled` says how.
    """

    def __init__(
        self, name: str, shields: Sequence[tuple[str, str]] = (), spelled: tuple[str, str] | None = None
    ) -> None:
        word = re.escape(name)
        opening, closing = rf"<\s*{word}(?:[\s/][^<>]*)?>", rf"<\s*/\s*{word}\s*>"
        if spelled is not None:
            opening, closing = map(re.escape, spelled)
        tags = rf"(?i:(?P<closing>{closing})|{opening})"
        self._shield_ends = dict(shields)
        self._word = name.lower() if spelled is None and name.isascii() else ""
        self._marks = re.compile("|".join([*map(re.escape, self._shield_ends), tags]))
        self._closing = re.compile(closing, re.IGNORECASE)

    def find(self, turn: str) -> list[Range]:
        """Ranges from each opening tag to the closing one behind it (or to the end), and each stray closing tag."""
        if turn.isascii() and self._word not in turn.lower():  # as in most turns
            return []
        found: list[Range] = []
        position = 0
        last_ends = {end: turn.rfind(end) for end in self._shield_ends.values()}
        while mark := self._marks.search(turn, position):
            shield_end = self._shield_ends.get(mark[0])
            if shield_end is not None:
                position = mark.end()
                if last_ends[shield_end] >= position:
                    position = turn.find(shield_end, position) + len(shield_end)
                continue
            closed = mark if mark["closing"] else self._closing.search(turn, mark.end())
            position = closed.end() if closed else len(turn)
            found.append((mark.start(), position))
        return found


def other_turns(turn: str, turn_end: str, turn_start: str) -> list[Range]:
    """The range behind the first end-of-turn marker, or from the first start of another turn: nobody asked for it."""
    end = turn.find(turn_end) if turn_end else -1
    starts = [end + len(turn_end)] if end >= 0 else []
    starts += [start for start in [turn.find(turn_start)] if turn_start and start >= 0]
    return [(min(starts), len(turn))] if starts and turn[min(starts) :].strip() else []


def without(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """`text` without what stands between the marks of a pair, such as the calls in it; what is not closed stays."""
    for opening, closing in pairs:
        kept, position, last_end = [], 0, text.rfind(closing)
        while (start := text.find(opening, position)) >= 0 and last_end >= start + len(opening):
            kept.append(text[position:start])
            position = text.find(closing, start + len(opening)) + len(closing)
        text = "".join([*kept, text[position:]])
    return text


def merge(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The union of `ranges`, in order, as disjoint non-empty ranges."""
    if not ranges:
        return ()
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
