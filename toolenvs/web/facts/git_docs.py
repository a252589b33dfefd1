"""Manual pages of Git, made by Asciidoctor: commands, options, configuration variables."""

import re
from collections.abc import Iterator

from toolenvs.web.facts.candidates import Candidate
from toolenvs.web.facts.options import options
from toolenvs.web.facts.pages import Sheet

_TITLE = re.compile(r"# (git(?:-[\w-]+)?)\((\d)\) Manual Page")
_SUMMARY = re.compile(r"(git-[\w-]+) - (.{10,120})")
_VARIABLE = re.compile(r"[a-z][\w-]*(?:\.<\w+>)?\.[A-Za-z][\w-]*")
_DEFAULT = re.compile(
    r"\b(?:[Tt]he default(?: value)? is|[Dd]efaults? (?:to|is)) "
    r"(-?\d[\w.]*(?: (?:KiB|MiB|GiB|seconds|days|hours|minutes|weeks))?|[a-z]+(?:[.-][a-z\d]+)*)(?=[.,;](?:\s|$)| \()"
)
_TOLD = re.compile(r"(?i)\bdefaults? (?:value )?(?:is|to)\b")
_GUESSED = frozenset(("0", "zero", "true", "false", "yes", "no", "on", "off", "the", "a", "empty", "all"))


def read(sheet: Sheet) -> Iterator[Candidate]:
    """What can be asked about a page."""
    title = next((match for line in sheet.lines[:3] if (match := _TITLE.fullmatch(line))), None)
    if title is None:
        return
    command = title[1]
    if title[2] == "1":
        yield from _summary(sheet)
        yield from options(sheet, command)
    if command == "git-config":
        yield from _variables(sheet)


def _summary(sheet: Sheet) -> Iterator[Candidate]:
    for line in range(min(6, len(sheet.lines))):
        found = _SUMMARY.fullmatch(sheet.lines[line])
        if found is None:
            continue
        words = set(found[1].split("-")[1:])
        told = bool(words & set(re.findall(r"\w+", found[2].casefold())))
        yield Candidate(
            kind="command", subject=found[2], question=f'Which command is described so: "{found[2]}"?',
            answer=found[1], aliases=(found[1].replace("-", " ", 1), found[1].removeprefix("git-")), line=line,
            refused="the description names the command" if told else "",
        )  # fmt: skip


def _variables(sheet: Sheet) -> Iterator[Candidate]:
    for line, text in enumerate(sheet.lines):
        body = sheet.body(line) if _VARIABLE.fullmatch(text) else None
        if not body:
            continue
        defaults = [(number, match) for number in body for match in _DEFAULT.finditer(sheet.lines[number])]
        if not any("efault" in sheet.lines[number] for number in body):
            continue
        told = sum(len(_TOLD.findall(sheet.lines[number])) for number in body)
        if len(defaults) != 1 or told > 1:
            refused = "the default is told in several ways, or in words"
            yield Candidate(kind="default", subject=text, question=text, answer="-", line=line, refused=refused)
            continue
        number, match = defaults[0]
        yield Candidate(
            kind="default", subject=text, question=f"What is the default of the configuration variable {text}?",
            answer=match[1], line=number, cites=(line,), names=(text.casefold().rpartition(".")[2],),
            at=match.start(1), values="number" if re.search(r"[1-9]", match[1]) else "", body=body,
            refused="a default that is guessed" if match[1] in _GUESSED else "",
        )  # fmt: skip
