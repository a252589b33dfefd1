"""What an episode has seen: its pages by cursor, for good, and the way it took through them."""

from dataclasses import dataclass, replace

from toolenvs.web.document import Document, View
from toolenvs.web.faults import Fault


@dataclass(frozen=True, slots=True)
class Seen:
    """A page in one state, under one cursor."""

    document: Document
    http_status: int | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Step:
    cursor: int
    line: int
    """Where its last view began, and the characters of that line left out."""
    offset: int = 0


class Trail:
    """Pages by cursor, and a history to go back and forward in."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._seen: list[Seen] = []
        self._read: dict[int, tuple[int, int]] = {}  # cursor -> line and offset to read on from
        self._steps: list[_Step] = []
        self._place = -1

    def fork(self) -> "Trail":
        """A copy that goes its own way; the pages are shared."""
        copy = Trail()
        copy._seen, copy._read = list(self._seen), dict(self._read)
        copy._steps, copy._place = list(self._steps), self._place
        return copy

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def cursor(self) -> int | None:
        """Of the page that the episode is at; None before the first."""
        return self._steps[self._place].cursor if self._steps else None

    def at(self, cursor: int | None) -> tuple[int, Seen]:
        """A cursor (None: where the episode is) and its page.

        Raises:
            Fault: no_such_line, there is none.
        """
        number = self.cursor if cursor is None else cursor
        if number is None:
            raise Fault("no_such_line", "no page is open: open or search one first")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._seen):
            told = f"there is no page [{number!r:.20}]: pages [0] to [{len(self._seen) - 1}] were shown"
            raise Fault("no_such_line", told if self._seen else "no page is open: open or search one first")
        return number, self._seen[number]

    def add(self, seen: Seen, *, same_page: bool) -> int:
        """Keep a page under the next cursor and go there.

        Args:
            seen: the page.
            same_page: whether it is the present page in a new state, which takes its step in the history.
        """
        self._seen.append(seen)
        step = _Step(len(self._seen) - 1, 0)
        if same_page and self._steps:
            self._steps[self._place] = replace(self._steps[self._place], cursor=step.cursor)
        else:
            del self._steps[self._place + 1 :]
            self._steps.append(step)
            self._place += 1
        return step.cursor

    def move(self, by: int) -> tuple[int, int, int]:
        """Go back (-1) or forward (1): the cursor there, and the line and offset that were shown last.

        Raises:
            Fault: no_such_line, there is no such step.
        """
        if not 0 <= self._place + by < len(self._steps):
            raise Fault("no_such_line", f"there is no page to go {'back' if by < 0 else 'forward'} to: open one")
        self._place += by
        step = self._steps[self._place]
        return step.cursor, step.line, step.offset

    def viewed(self, cursor: int, view: View, offset: int) -> None:
        """Note what was shown of a page."""
        self._read[cursor] = (view.next_line, view.next_offset)
        if cursor == self.cursor:
            self._steps[self._place] = _Step(cursor, view.first_line, offset)

    def onward(self, cursor: int) -> tuple[int, int]:
        """Line and offset that reading goes on from."""
        return self._read.get(cursor, (0, 0))
