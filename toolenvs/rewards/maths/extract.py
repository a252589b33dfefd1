r"""Finding the final answer in a response.

The order, each step only where the one before finds nothing:

1. The content of the last `<answer>` tag, to the end where a stop string took the closing tag; a box inside it is
   preferred.
2. The last balanced `\boxed{...}` (or `\fbox`, `\framebox`) that is not empty. Boxes joined by nothing but commas,
   "and" or "or" are one list.
3. The last marker: `#### 18`, `**Answer:** 4`, `Final Answer: 73`, `The final answer is $72$. I hope it is correct.`
4. The last display or inline formula, or bold text, if it stands on a line of its own.
5. The response itself, if it is one short line.

Thoughts are taken out first: what `<think>...</think>` encloses, and what an unclosed tag leaves open. Only the last
`WINDOW_CHARACTERS` of what remains are looked at.
"""

import re

WINDOW_CHARACTERS = 20_000
_SHORT_LINE_CHARACTERS = 60

_THOUGHT = re.compile(r"<think(?:ing)?>(?:(?!<think).)*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSE_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_END_OF_TEXT = re.compile(r"(?:</s>|<\|[A-Za-z_]{1,20}\|>)$")
_ANSWER_OPEN = re.compile(r"<answer>", re.IGNORECASE)
_ANSWER_CLOSE = re.compile(r"</answer>", re.IGNORECASE)
_BRACE = re.compile(
    r"(?<!\\)\\++(?:boxed|fbox|framebox)\s*+(?:\{|(?P<bare>-?\d+(?:\.\d+)?|[A-Za-z](?![A-Za-z])))|\\.|[{}]", re.DOTALL
)
_JOINT = re.compile(r"(?:[\s,$&]|\\(?:quad|qquad|,|;|\(|\)|\[|\])|\\text\{\s*(?:and|or)\s*\}|and|or)*")
_MARKERS = re.compile(
    r"####[ \t]*(?P<hash>[^\n]+)"
    r"|(?:final|the)[ ]+answer(?:\*\*|__|:)*[ \t]*+\n\s*+(?P<below>\S[^\n]*)"
    r"|(?:final[ ]+answer|the[ ]+answer|answer)[ \t]*+(?:\*\*|__)?[ \t]*+(?:is\b|:|=)[ \t]*+:?[ \t]*+(?:\*\*|__)?\s*+"
    r"(?:(?:therefore|thus|then|simply|just)\b,?[ \t]*)?(?P<said>\S[^\n]*)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$|\*)")
_CLAUSE = re.compile(r",?(?<!\s)\s++(?:since|because|which|where)\b|,\s++not\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]++)\*\*")
_FORMULA = re.compile(
    r"\\\[(.{1,400}?)\\\]|\$\$(.{1,400}?)\$\$|\\\((.{1,400}?)\\\)|(?<![\\$])\$([^$\n]{1,400})\$(?!\$)", re.DOTALL
)


def extract(response: str, *, boxed: bool = False) -> str | None:
    """The final answer as it is written in the response, or None.

    Args:
        response: what the policy wrote.
        boxed: take the last box, wherever it stands, and nothing else.
    """
    text = _END_OF_TEXT.sub("", _outside_thoughts(response)[-WINDOW_CHARACTERS:].rstrip())
    if boxed:
        return _last_boxes(text)
    openings = list(_ANSWER_OPEN.finditer(text))
    if openings:
        inner = text[openings[-1].end() :]
        if closing := _ANSWER_CLOSE.search(inner):
            inner = inner[: closing.start()]
        return _last_boxes(inner) or inner.strip() or None
    return _last_boxes(text) or _marked(text) or _emphasised(text) or _bare(text)


def _outside_thoughts(text: str) -> str:
    text = _THOUGHT.sub("", text)
    if closing := _last(_CLOSE_THOUGHT, text):
        text = text[closing.end() :]
    if opening := _OPEN_THOUGHT.search(text):
        text = text[: opening.start()]
    return text


def _last_boxes(text: str) -> str | None:
    """The last box's content; neighbouring boxes joined into a list, the same content once."""
    boxes = [box for box in _boxes(text) if box[2]]
    if not boxes:
        return None
    start, _, last = boxes.pop()
    contents = [last]
    while boxes and _JOINT.fullmatch(text, boxes[-1][1], start):
        start, _, content = boxes.pop()
        if content not in contents:
            contents.insert(0, content)
    return ", ".join(contents)


def _boxes(text: str) -> list[tuple[int, int, str]]:
    """Start, end and content of every outermost balanced box, in one pass."""
    boxes: list[tuple[int, int, str]] = []
    opened: list[tuple[int, int] | None] = []  # where a box and its content begin; None for another brace
    for match in _BRACE.finditer(text):
        token = match[0]
        if match["bare"]:
            boxes.append((match.start(), match.end(), match["bare"]))
        elif token == "}":
            if opened and (box := opened.pop()) is not None:
                while boxes and boxes[-1][0] > box[0]:
                    boxes.pop()
                boxes.append((box[0], match.end(), text[box[1] : match.start()].strip()))
        elif token[-1] == "{" and token != r"\{":
            opened.append(None if token == "{" else (match.start(), match.end()))
    return boxes


def _marked(text: str) -> str | None:
    """What follows the last marker, to the end of its sentence."""
    last = _last(_MARKERS, text)
    if last is None:
        return None
    begin = max(last.start(name) for name in ("hash", "below", "said"))
    said = text[begin:].strip()
    formula = _FORMULA.match(said)
    if formula is not None:
        said = _content(formula)
    else:
        said = said.partition("\n")[0]
        for end in (_SENTENCE_END, _CLAUSE):
            said = said[: found.start()] if (found := end.search(said)) else said
    return said.strip().strip("*").strip() or None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return max(pattern.finditer(text), key=re.Match.start, default=None)


def _emphasised(text: str) -> str | None:
    """The last bold text, or the formula that ends the response."""
    bold = _last(_BOLD, text)
    if bold is not None:
        return bold[1].strip().rstrip(":") or None
    formulae = list(_FORMULA.finditer(text))
    if not formulae or text[formulae[-1].end() :].strip(" \n\t."):
        return None
    contents = [_content(formulae[-1])]
    for before, after in zip(reversed(formulae[:-1]), reversed(formulae), strict=False):
        if not _JOINT.fullmatch(text, before.end(), after.start()):
            break
        contents.insert(0, _content(before))
    return ", ".join(contents) or None


def _content(formula: re.Match[str]) -> str:
    return next(group for group in formula.groups() if group is not None).strip()


def _bare(text: str) -> str | None:
    """A response that is nothing but its answer."""
    text = text.strip()
    return text if text and len(text) <= _SHORT_LINE_CHARACTERS and "\n" not in text and "\\boxed" not in text else None
