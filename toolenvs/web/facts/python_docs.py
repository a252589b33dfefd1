"""Pages that Sphinx made of Python's documentation: signatures, versions, headings."""

import re
from collections.abc import Iterator

from toolenvs.tasks.seeding import Draws
from toolenvs.web.facts.candidates import Candidate
from toolenvs.web.facts.pages import Sheet

_NAME = re.compile(r"(?:c\.)?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PREFIX = re.compile(r"(?:[\w*]+ )*?\**")
_ADDED = re.compile(r"\s*New in version (\d\.\d+)(?:\.\d+)?\.")
_DEPRECATED = re.compile(
    r"\s*Deprecated since version (3\.\d+)(?:, will be removed in version [\d.]+)?"
    r"(?:\.|: (?:Use|This (?:class|function|method|module|constant|attribute|exception) )\b.*)"
)
"""Of the whole thing; other texts deprecate one way to use it."""
_PLAIN = frozenset(("None", "True", "False", "0", "''", "()", "[]", "{}", "..."))
"""Defaults that are guessed as easily as they are found."""
_VALUE = re.compile(r"-?[\w.]+|'[^'\\]+'")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_MIN_HEADINGS = 4
_MIN_ARGUMENTS = 3


def read(sheet: Sheet) -> Iterator[Candidate]:
    """What can be asked about the things that a page defines."""
    if not re.search(r"/(?:library|c-api|reference|distutils|using)/", sheet.url):
        return
    entries = {line: name for name, line in sheet.document.anchors.items() if _defines(sheet, name, line)}
    for line, name in entries.items():
        subject, names = name.removeprefix("c."), (name.rpartition(".")[2].casefold(),)
        body = _body(sheet, line, entries)
        alone = body.start == line + 1
        yield from _versions(sheet, line, name, subject, names, body)
        if alone:
            yield from _arguments(sheet, line, name, subject, names, body)
        yield from _heading(sheet, line, subject, names)


def _defines(sheet: Sheet, name: str, line: int) -> bool:
    """Whether an anchor is a thing's own, whose line is its signature."""
    if line >= len(sheet.lines) or not _NAME.fullmatch(name):
        return False
    if not name.startswith("c.") and "." not in name and "/library/functions" not in sheet.url:
        return False
    text = sheet.lines[line].strip()
    called = name.removeprefix("c.")
    found = re.search(rf"(?<![\w.]){re.escape(called)}(?![\w.])", text)
    return found is not None and _PREFIX.fullmatch(text[: found.start()]) is not None and len(text) < 400


def _body(sheet: Sheet, line: int, entries: dict[int, str]) -> range:
    """The text of an entry, which several may share."""
    own = sheet.indent(line)
    first = line + 1
    while first < len(sheet.lines) and sheet.indent(first) == own and first in entries:
        first += 1
    return sheet.body(first - 1)


def _versions(
    sheet: Sheet, line: int, name: str, subject: str, names: tuple[str, ...], body: range
) -> Iterator[Candidate]:
    inner = [number for number in body if sheet.indent(number) == sheet.indent(line) + 2]
    for kind, begins, pattern, question in (
        ("added", "New in version", _ADDED, f"In which version of Python was {subject} new?"),
        (
            "deprecated",
            "Deprecated since",
            _DEPRECATED,
            f"Since which version of Python has {subject} been deprecated?",
        ),
    ):
        told = [number for number in inner if sheet.lines[number].lstrip().startswith(begins)]
        if not told:
            continue
        number, match = told[0], pattern.fullmatch(sheet.lines[told[0]])
        if match is None or len(told) > 1:
            refused = "the entry names several versions, or a part of what it describes"
            yield Candidate(kind=kind, subject=subject, question=question, answer="-", line=number, refused=refused)
            continue
        yield Candidate(
            kind=kind, subject=subject, question=question, answer=match[1], line=number, cites=(line,), names=names,
            at=match.start(1), values="version" if match[1].startswith("3.") else "", body=body, anchor=name,
        )  # fmt: skip


def _arguments(
    sheet: Sheet, line: int, name: str, subject: str, names: tuple[str, ...], body: range
) -> Iterator[Candidate]:
    text = sheet.lines[line]
    parts = arguments(text)
    plain = [part for _, part in parts if part not in ("*", "/")]
    if len(plain) >= _MIN_ARGUMENTS and all(re.fullmatch(r"\**\w+(?:=.*)?", part) for part in plain):
        position = Draws("argument", subject).below(min(len(plain), len(_ORDINALS)))
        called = plain[position].partition("=")[0].lstrip("*")
        question = f"What is the {_ORDINALS[position]} parameter of {subject} called, in the order of its signature?"
        yield Candidate(kind="parameter", subject=subject, question=question, answer=called, line=line, names=names)
    for start, part in parts:
        argument, equals, value = part.partition("=")
        if not equals or not argument.isidentifier():
            continue
        refused = (
            "" if _VALUE.fullmatch(value) and value not in _PLAIN else "a default that is guessed, or no plain value"
        )
        at = start + len(argument) + 1
        yield Candidate(
            kind="default", subject=f"{subject}({argument})",
            question=f"What is the default value of the parameter {argument} of {subject}?",
            answer=value.strip("'"), line=line, names=(*names, argument.casefold()), at=at + value.startswith("'"),
            values="number" if re.fullmatch(r"-?\d+(?:\.\d+)?", value) and value.strip("-0.") else "", body=body,
            anchor=name, refused=refused,
        )  # fmt: skip


def arguments(signature: str) -> list[tuple[int, str]]:
    """The arguments of a signature, each with its place; [] where its brackets do not balance or mark what may be
    left out.
    """
    start = signature.find("(")
    if start < 0 or "[" in signature or not signature.rstrip().endswith(")"):
        return []
    found, depth, quote, first = [], 0, "", start + 1
    for place in range(start, len(signature)):
        character = signature[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if (character == "," and depth == 1 and not quote) or depth == 0:
            part = signature[first:place]
            found.append((first + len(part) - len(part.lstrip()), part.strip()))
            first = place + 1
        if depth == 0:
            return [one for one in found if one[1]]
    return []


def _heading(sheet: Sheet, line: int, subject: str, names: tuple[str, ...]) -> Iterator[Candidate]:
    heading = sheet.heading(line)
    if heading is None or len(sheet.headings) < _MIN_HEADINGS or re.match(r"# ", sheet.lines[heading]):
        return
    yield Candidate(
        kind="section", subject=subject, question=f"Under which heading of its page is {subject} described?",
        answer=sheet.lines[heading].lstrip("# ").strip(), line=heading, cites=(line,), names=names,
    )  # fmt: skip
