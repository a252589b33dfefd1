"""Pages that DocBook made of PostgreSQL's documentation: settings, columns of catalogs, tables, options."""

import re
from collections.abc import Iterator
from dataclasses import replace

from toolenvs.tasks.seeding import stable_seed
from toolenvs.web.facts.candidates import Candidate
from toolenvs.web.facts.options import options
from toolenvs.web.facts.pages import Sheet, words

_SETTING = re.compile(r"(\w+(?:\.\w+)?) \((boolean|integer|enum|string|floating point)\)")
_DEFAULT = re.compile(
    r"\b[Tt]he default (?:value )?is (?:\w+ )??(?:\w+ \w+ )?\(?(-?\d+(?:\.\d+)?(?: ?(?:kB|MB|GB|ms|s|min|h|d|seconds|"
    r"minutes|milliseconds|days))?|[a-z_\d-]+)(?=[).,;](?:\s|$)|\)|$)"
)
_TOLD = re.compile(r"(?i)\bdefault (?:value )?is\b")
_CAPTION = re.compile(r"Table ([A-Z\d]+\.\d+)\. (.+)")
_COLUMN = re.compile(r"\| (\w+) ([a-z_\d]+(?:\[\])?) ((?:[A-Z(“\"]).*) \|")
_GUESSED = frozenset(("0", "zero", "on", "off", "true", "false", "yes", "no", "t", "f", "null", "-", "—", "", "x"))
_MAX_CELL = 60
_CELLS = 12
"""Questions about one table."""


def read(sheet: Sheet) -> Iterator[Candidate]:
    """What can be asked about a page."""
    yield from _settings(sheet)
    yield from _tables(sheet)
    if re.search(r"/(?:app-|pg|reference-|contrib)", sheet.url):
        program = next((sheet.lines[line].lstrip("# ") for line in sheet.headings), "")
        if re.fullmatch(r"\w+", program):
            yield from options(sheet, program)


def _settings(sheet: Sheet) -> Iterator[Candidate]:
    for anchor, line in sheet.document.anchors.items():
        found = _SETTING.fullmatch(sheet.lines[line].strip()) if line < len(sheet.lines) else None
        if found is None or not anchor.startswith("GUC-"):
            continue
        name, kind = found.groups()
        body = sheet.body(line)
        names = (name.casefold(),)
        yield Candidate(
            kind="type", subject=name, question=f"Of which type is the configuration parameter {name}?", answer=kind,
            line=line, names=names,
        )  # fmt: skip
        defaults = [(number, match) for number in body for match in _DEFAULT.finditer(sheet.lines[number])]
        if not any("default" in sheet.lines[number] for number in body):
            continue
        if len(defaults) != 1 or sum(len(_TOLD.findall(sheet.lines[number])) for number in body) > 1:
            refused = "the default is told in several ways, or in words"
            yield Candidate(kind="default", subject=name, question=name, answer="-", line=line, refused=refused)
            continue
        number, match = defaults[0]
        refused = "a default that is guessed" if match[1] in _GUESSED else ""
        yield Candidate(
            kind="default", subject=name, question=f"What is the default of the configuration parameter {name}?",
            answer=match[1], line=number, cites=(line,), names=names, at=match.start(1),
            values="number" if re.match(r"-?\d", match[1]) and re.search(r"[1-9]", match[1]) else "", body=body,
            anchor=anchor, refused=refused,
        )  # fmt: skip


def _tables(sheet: Sheet) -> Iterator[Candidate]:
    anchors = sorted((line, name) for name, line in sheet.document.anchors.items())
    for line, text in enumerate(sheet.lines):
        caption = _CAPTION.fullmatch(text.strip())
        rows = _rows(sheet, line + 1) if caption else []
        if caption is None or len(rows) < 3:
            continue
        anchor = [name for first, name in anchors if first <= line][-1:]
        header = sheet.lines[rows[0]].strip()
        if header == "| Column Type Description |":
            yield from _columns(sheet, caption[2].removesuffix(" Columns"), rows[1:], "".join(anchor))
        else:
            yield from _cells(sheet, caption[2], rows, "".join(anchor))


def _rows(sheet: Sheet, first: int) -> list[int]:
    last = first
    while last < len(sheet.lines) and re.match(r"\s*\| (?!Prev \|)", sheet.lines[last]):  # what turns pages follows
        last += 1
    return list(range(first, last))


def _columns(sheet: Sheet, catalog: str, rows: list[int], anchor: str) -> Iterator[Candidate]:
    for line in rows:
        found = _COLUMN.fullmatch(sheet.lines[line].strip())
        if found is None or not re.fullmatch(r"\w+", catalog):
            continue
        alone = found[2].isidentifier() and not found[3].startswith("(references")
        yield Candidate(
            kind="column", subject=f"{catalog}.{found[1]}",
            question=f"Of which data type is the column {found[1]} of the catalog or view {catalog}?",
            answer=found[2], line=line, names=(catalog.casefold(), found[1].casefold()),
            at=sheet.lines[line].index("| ") + 2 + len(found[1]) + 1, values="types" if alone else "", anchor=anchor,
        )  # fmt: skip


def _cells(sheet: Sheet, caption: str, rows: list[int], anchor: str) -> Iterator[Candidate]:
    table = {row: [cell.strip() for cell in sheet.lines[row].strip().strip("|").split(" | ")] for row in rows}
    header = table[rows[0]]
    whole = [row for row in rows[1:] if len(table[row]) == len(header)]
    keys = [table[row][0] for row in whole]
    if len(header) < 2 or len(whole) < 3:
        return
    asked = []
    for row in whole:
        for column in range(1, len(header)):
            answer = table[row][column]
            values = {table[other][column] for other in whole}
            refused = ""
            if keys.count(table[row][0]) > 1 or not table[row][0]:
                refused = "the table has several such rows"
            elif len(answer) > _MAX_CELL or "|" in answer:
                refused = "an answer too long to be compared"
            elif answer.casefold() in _GUESSED or len(values) < 4:
                refused = "a column of few values is guessed"
            asked.append(
                Candidate(
                    kind="cell",
                    subject=f"{caption}: {table[row][0]}: {header[column]}",
                    question=f'In the table "{caption}", what stands under "{header[column]}" for {table[row][0]}?',
                    answer=answer,
                    line=row,
                    cites=(rows[0],),
                    names=tuple(words(table[row][0])[:1]),
                    at=_place(sheet.lines[row], column),
                    values="number" if re.match(r"-?\d+(?!\S)", answer) and re.search(r"[1-9]", answer) else "",
                    anchor=anchor,
                    refused=refused,
                )
            )
    asked.sort(key=lambda one: (bool(one.refused), stable_seed(one.subject)))
    for place, one in enumerate(asked):
        yield one if place < _CELLS or one.refused else _beyond(one)


def _place(line: str, column: int) -> int:
    """Where a cell of a row begins."""
    start = line.index("| ") + 2
    for _ in range(column):
        start = line.index(" | ", start) + 3
    return start


def _beyond(one: Candidate) -> Candidate:
    return replace(one, refused="enough is asked of this table")
