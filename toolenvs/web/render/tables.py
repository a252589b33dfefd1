"""Which tables hold rows of data, and which only place the parts of a page."""

_WITHIN = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "form", "hr"))
"""Elements that do not stand in a cell of data."""


def layouts(parts: list[str], first: int) -> dict[int, bool]:
    """For each table from the place `first` on, by its place in the stream, whether it is a layout.

    It is one if it holds another table, a heading, a form or a rule, if its role says so, or if it has one cell only.
    """
    found: dict[int, bool] = {}
    open_tables: list[int] = []
    cells: list[int] = []
    for place in range(first, len(parts), 2):
        tag = parts[place]
        if tag[:1] == "t":
            if tag[:2] in ("td", "th") and (tag[2:3] in ("", " ")):
                if cells:
                    cells[-1] += 1
            elif tag[:5] == "table" and tag[5:6] in ("", " "):
                if open_tables:
                    found[open_tables[-1]] = True
                found[place] = 'role="presentation"' in tag or 'role="none"' in tag
                open_tables.append(place)
                cells.append(0)
        elif tag == "/table":
            if open_tables:
                table = open_tables.pop()
                found[table] = found[table] or cells.pop() == 1
        elif open_tables and tag.partition(" ")[0] in _WITHIN:
            found[open_tables[-1]] = True
    return found
