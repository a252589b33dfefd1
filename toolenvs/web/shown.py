"""Pages as a model reads them: a head that says where it is, then numbered lines."""

from collections.abc import Callable, Sequence

from toolenvs.web.document import Document, View, fold

_PREFIX = "L{}: "


def head(cursor: int, document: Document) -> str:
    """`[cursor] title (url)`."""
    title = document.title or "Untitled"
    return f"[{cursor}] {title} ({document.url})" if document.url else f"[{cursor}] {title}"


def view_of(document: Document, first_line: int, offset: int, most: int, count: Callable[[str], int]) -> View:
    """The lines that fit `most` characters (or tokens) together with their numbers; at least a part of one."""
    prefix = count(_PREFIX.format(len(document.lines)))

    def counted(text: str) -> int:
        return count("\n") + prefix if text == "\n" else count(text)

    return document.view(first_line, max(most - prefix, 1), offset=offset, count=counted)


def viewed(cursor: int, document: Document, view: View, offset: int, truncated: bool) -> str:
    """A stretch of a page, with what is left of it."""
    total = len(document.lines)
    if view.last_line < view.first_line:
        told = f"{total} lines, none left" if total else "an empty page"
    else:
        told = f"lines {view.first_line}-{view.last_line} of {total}"
    if view.next_offset:
        told += f", line {view.next_line} cut after {view.next_offset:,} characters"
    if truncated:
        cut = ", ".join(document.truncated) or "bytes"
        told += f"; the page itself was too long and is cut ({cut})"
    lines = view.text.split("\n") if view.last_line >= view.first_line else []
    numbered = [_PREFIX.format(view.first_line + place) + line for place, line in enumerate(lines)]
    if numbered and offset:
        numbered[0] = _PREFIX.format(view.first_line) + "..." + lines[0]
    return "\n".join([head(cursor, document), told, *numbered])


def found(
    cursor: int, document: Document, text: str, hits: Sequence[int], *, max_hits: int, max_hit_chars: int, most: int
) -> str:
    """The lines that hold a text, each cut to the part that does."""
    wanted = fold(text).strip()
    asked = text if len(text) <= 80 else text[:80] + "..."
    rows: list[str] = []
    used = 0
    for line in hits[:max_hits]:
        row = _PREFIX.format(line) + _around(document.lines[line], wanted, max_hit_chars)
        used += len(row) + 1
        if used > most and rows:
            break
        rows.append(row)
    if not hits:
        told = f"no line of {len(document.lines)} holds {asked!r}"
    else:
        told = f"{len(hits)} of {len(document.lines)} lines hold {asked!r}"
        if len(rows) < len(hits):
            told += f"; the first {len(rows)} are shown, the others are " + _numbers(hits[len(rows) :])
    return "\n".join([head(cursor, document), told, *rows])


def _numbers(lines: Sequence[int]) -> str:
    shown = ", ".join(f"L{line}" for line in lines[:100])
    return shown + (", ..." if len(lines) > 100 else "")


def _around(line: str, wanted: str, most: int) -> str:
    if len(line) <= most:
        return line
    place = line.casefold().find(wanted[: most // 2])
    start = max(0, min(place - most // 4, len(line) - most)) if place > 0 else 0
    end = start + most
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")
