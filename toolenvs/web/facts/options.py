"""Options of commands, on manual pages of any kind: what each does, and which short one is which long one."""

import re
from collections.abc import Iterator

from toolenvs.web.facts.candidates import Candidate
from toolenvs.web.facts.pages import Sheet

_LONG = re.compile(r"--(?:\[no-\])?([A-Za-z\d][\w-]*)")
_SHORT = re.compile(r"(?<![\w-])-([A-Za-z\d])(?![\w-])")
_TERM = re.compile(r"\s*--?[\w\[(].{0,100}")
_SENTENCE = re.compile(r"[A-Z].{28,220}?[a-z)]\.(?=\s|$)")


def options(sheet: Sheet, command: str) -> Iterator[Candidate]:
    """What can be asked about the options of a page.

    Args:
        sheet: the page.
        command: whose options they are, as questions call it.
    """
    before: list[int] = []
    for line in (line for line in range(len(sheet.lines)) if _TERM.fullmatch(sheet.lines[line])):
        together = bool(before) and before[-1] == line - 1 and sheet.indent(before[-1]) == sheet.indent(line)
        before = [*before, line] if together else [line]
        body = sheet.body(line)
        if body:
            yield from _option(sheet, command, before, body)


def _option(sheet: Sheet, command: str, group: list[int], body: range) -> Iterator[Candidate]:
    long = {name: line for line in group for name in _LONG.findall(sheet.lines[line])}
    short = {name: line for line in group for name in _SHORT.findall(sheet.lines[line].partition("=")[0])}
    if len(long) != 1:
        return
    name, line = next(iter(long.items()))
    written = f"--{name}"
    both = tuple(f"-{letter}, {written}" for letter in short)
    if len(short) == 1:
        letter = next(iter(short))
        yield Candidate(
            kind="long option", subject=f"{command} -{letter}",
            question=f"Which long option of {command} is the same as its option -{letter}?",
            answer=written, aliases=both, line=line, cites=(short[letter],),
        )  # fmt: skip
    sentence = _SENTENCE.match(sheet.lines[body.start].strip())
    if sentence is None:
        return
    told = name in sentence[0] or name.replace("-", " ") in sentence[0].casefold()
    yield Candidate(
        kind="meaning", subject=f"{command}: {sentence[0]}",
        question=f'Which option of {command} is described so: "{sentence[0]}"?',
        answer=written, aliases=both, line=line, cites=(body.start,),
        refused="the description names the option" if told else "",
    )  # fmt: skip
