r"""The final answer in a response.

Looked for in this order, in the last `WINDOW_CHARS` characters of what stands outside `<think>`:

1. the last complete `<answer>...</answer>`, and in it the last balanced `\boxed{}`, else the whole of it;
2. the last balanced `\boxed{}` or `\fbox{}`; boxes with nothing but commas, "and" or "or" between them are one list;
3. the rest of the line after the last "Answer:", "the answer is" or `####`;
4. what the last sentence of the form "... is **value**" shows in bold;
5. the whole, where it is one short line.

A box that was opened and never closed is no answer, and then nothing else is looked for.
"""

import re
from collections.abc import Iterator

WINDOW_CHARS = 10_000
"""How much of the end of a response is searched."""
_MAX_BARE_CHARS = 60
"""Length up to which a response without any marker is itself the answer."""

_END_OF_TEXT = re.compile(r"(?:\s*(?:</s>|<\|[A-Za-z_ ]{1,20}\|>|<｜[^<>｜]{1,30}｜>|<eos>|<end_of_turn>|\[EOS\]))+\s*\Z")
_ANSWER_OPEN, _ANSWER_CLOSE = "<answer>", "</answer>"
_BRACES = re.compile(r"\\+(?:boxed|fbox)\s*\{|\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s*(-?\d[\d,.]*\d|-?\d|[A-Za-z])(?![\w{])")
_BETWEEN_BOXES = re.compile(r"[\s$,;]*(?:\\text\{)?\s*(?:and|or|&)?\s*\}?[\s$,;]*")
_EMPHASIS = r"[*_`]{0,3}"
_MARKER = re.compile(
    rf"####|{_EMPHASIS}\b(?:final\s+)?answer{_EMPHASIS}\s*(?:[:=]|is\b\s*:?){_EMPHASIS}", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[^\s.])\.(?=\s+\W*[A-Z]|\s*\Z)|[!?](?=\s+[A-Z])|\n")
_BOLD = re.compile(r"(?:\bis|\bare|=|:)\s*\*\*([^*\n]{1,200})\*\*")


def final_answer(response: str) -> str | None:
    """The answer as it was written, or None where the response gives none."""
    text = _spoken(response)
    tagged = _tagged(text)
    if tagged is not None:
        text = tagged
    if "\\boxed" in text or "\\fbox" in text:
        return _boxed(text)
    if tagged is not None:
        return _after_marker(text) or text.strip() or None
    return _after_marker(text) or _in_bold(text) or _bare(text)


def _spoken(response: str) -> str:
    """What stands outside the thought, without the marks that end a text."""
    text = response[response.rfind("</think>") + len("</think>") :] if "</think>" in response else response
    thought = text.find("<think>")
    if thought >= 0:
        text = text[:thought]
    text = text[-WINDOW_CHARS:]
    return text if text[-1:].isalnum() else _END_OF_TEXT.sub("", text)


def _tagged(text: str) -> str | None:
    end = text.rfind(_ANSWER_CLOSE)
    start = text.rfind(_ANSWER_OPEN, 0, end) if end >= 0 else -1
    return text[start + len(_ANSWER_OPEN) : end] if start >= 0 else None


def _boxed(text: str) -> str | None:
    group: list[str] = []
    previous_end = 0
    for start, end, content in _boxes(text):
        if not content.strip():
            continue
        if group and not _BETWEEN_BOXES.fullmatch(text, previous_end, start):
            group.clear()
        if content not in group:
            group.append(content)
        previous_end = end
    return ", ".join(group) if group else None


def _boxes(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and content of each outermost balanced box; time is linear in the text."""
    found = [(m.start(), m.end(), m[1]) for m in _BARE_BOX.finditer(text)]
    opened: list[tuple[int, int] | None] = []
    for match in _BRACES.finditer(text):
        token = match[0]
        if token == "}":
            if opened and (box := opened.pop()) is not None:
                while found and found[-1][0] > box[0]:
                    found.pop()
                found.append((box[0], match.end(), text[box[1] : match.start()]))
        elif token == "{":
            opened.append(None)
        elif token[-1] == "{" and len(token) > 2:
            opened.append((match.start(), match.end()))
    yield from sorted(found)


def _after_marker(text: str) -> str | None:
    last = None
    for last in _MARKER.finditer(text):
        pass
    if last is None:
        return None
    rest = text[last.end() :].strip()
    end = _SENTENCE_END.search(rest)
    return (rest[: end.start()] if end else rest).strip() or None


def _in_bold(text: str) -> str | None:
    found = _BOLD.findall(text)
    return found[-1].strip() if found else None


def _bare(text: str) -> str | None:
    text = text.strip()
    return text if text and len(text) <= _MAX_BARE_CHARS and "\n" not in text else None
