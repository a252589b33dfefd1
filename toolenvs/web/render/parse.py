"""HTML to a balanced stream of tags and text, as the HTML standard builds its tree, in bounded time.

Lexbor builds the tree and writes it out again: in what it writes, every element is closed, every attribute is quoted
and no attribute holds an angle bracket, so that one split gives all tags. Some pages would make any parser that follows
the standard slow or large; they are changed before, and say so only where something is lost.
"""

import itertools
import re

from toolenvs.errors import MissingExtraError
from toolenvs.web.render.clean import clean

MAX_TAG_CHARS = 65_536
"""Of one tag; a parser compares each attribute with all before."""
MAX_DEPTH = 256
"""Of elements in a page of more than `_STEP` tags; a parser asks for many a tag what it stands in."""
MAX_TAGS = 100_000
"""Elements that are read; the rest of the page is cut off."""
_STEP = 16_000
_MAX_COPIES = 100_000
"""Formatting elements times elements: an unclosed one is opened again in every paragraph after it."""
_MAX_OPTIONS = 2_000

_LONG_TAG = re.compile(rf"<([a-zA-Z][a-zA-Z0-9]{{0,31}}+)[^>]{{{MAX_TAG_CHARS}}}[^>]*+>?")
_ANY_CASE = "|".join(  # the flag for it would make the search slow
    "".join(f"[{letter}{letter.upper()}]" for letter in name)
    for name in ("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
_FIRST = "(?=[bBcCeEfFiInNsStTuU])"  # most tags are passed over by it alone
_FORMATTING = re.compile(rf"<{_FIRST}(?:{_ANY_CASE})(?=[\s/>])")
_FORMATTING_END = re.compile(rf"</{_FIRST}(?:{_ANY_CASE})(?=[\s/>])")
_ROOTS = re.compile(r"<(?:html|body)(?=[\s/>])", re.I)
_MAX_ROOTS = 20
"""Start tags of html and body; a further one adds its attributes to the first."""
_OPTION = re.compile(r"<(/?)(?:option|optgroup)(?=[\s/>])", re.I)
_NESTED = re.compile(
    r"<(/?)(?!!|(?:area|base|basefont|bgsound|br|col|embed|frame|hr|img|input|keygen|link|meta|param|source|track|wbr)"
    r"[ >])"
)
_STEPS = {"": 1, "/": -1}
_START = re.compile(r"<[a-zA-Z]")
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|frame|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    r"([a-zA-Z][^\s/>]*+)((?:\s++[^\s=/>]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'))?+)*+)\s*+/>"
)
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|iframe|noembed|noframes)(?: [^>]*+)?>.*?</\1>|<(xmp|plaintext)(?: [^>]*+)?>(.*?)</\2>",
    re.S,
)
_HIDING = re.compile(r'style="[^"]*(?i:display|visibility)')
_WITHOUT_EFFECT = re.compile(
    r'</?(?:span|code|em|strong|b|i|u|tt|kbd|samp|cite|var|small|abbr|tbody|thead)(?: class="[^"]*")?>'
)
_TAG = re.compile(r"<([^>]*)>")
_FORGED = re.compile(r"(\[(?:\d|<[^>]*+>)++)([†‡])")
VOID = frozenset((
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
))  # fmt: skip
"""Elements without an end tag."""


def parts(html: str, *, xml: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """Text, tag, text, tag ... text: tags without their brackets, text with `&amp;`, `&lt;`, `&gt;` and `&nbsp;`.

    Args:
        html: a page.
        xml: whether an element may be closed in its own tag, as in XHTML.

    Returns:
        the parts, and what was cut off, as `Document.truncated` says it.

    Raises:
        MissingExtraError: selectolax is not installed.
    """
    if xml:
        html = _SELF_CLOSED.sub(r"<\1\2></\1>", html)
    html, cut = _tamed(html)
    starts = html.count("<") - html.count("</")
    if starts <= _STEP:
        written = _normal(html)
    else:
        written, cut_here = _step_by_step(html, cut)
        cut += cut_here
    written = clean(_UNSEEN.sub(_seen, written))
    if ' hidden="' not in written and not _HIDING.search(written):  # else each end may be that of a hidden element
        written = _WITHOUT_EFFECT.sub("", written)
    if "†" in written or "‡" in written:
        written = _FORGED.sub(r"\1 \2", written)
    return _TAG.split(written), cut


def _tamed(html: str) -> tuple[str, tuple[str, ...]]:
    cut: tuple[str, ...] = ()
    if len(html) > MAX_TAG_CHARS:
        html, count = _LONG_TAG.subn(r"<\1>", html)
        cut = ("tag",) if count else ()
    starts = html.count("<") - html.count("</")
    if starts > MAX_TAGS:
        place = next(itertools.islice((match.start() for match in _START.finditer(html)), MAX_TAGS, None), None)
        html, cut = (html, cut) if place is None else (html[:place], (*cut, "tags"))
        starts = min(starts, MAX_TAGS)
    if starts * starts > 4 * _MAX_COPIES:
        html = _FORMATTING_END.sub("</span", _FORMATTING.sub("<span", html))
    if starts > _MAX_ROOTS and len(_ROOTS.findall(html)) > _MAX_ROOTS:
        html = _ROOTS.sub("<span", html)
    if starts > _MAX_OPTIONS and len(_OPTION.findall(html)) > 2 * _MAX_OPTIONS:
        html = _OPTION.sub(r"<\1li", html)
    return html, cut


def _normal(html: str) -> str:
    try:
        from selectolax.lexbor import LexborHTMLParser, SelectolaxError
    except ImportError as error:
        raise MissingExtraError("selectolax", "web", "reading web pages") from error
    try:
        written = LexborHTMLParser(html).html
    except SelectolaxError as error:
        raise MemoryError("the parser found no memory for the page") from error
    if written is None:  # no page is written as nothing
        raise MemoryError("the parser found no memory for the page")
    return written


def _step_by_step(html: str, cut: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """A page of many tags: longer and longer beginnings, as long as none is deep."""
    written, place = "", 0
    starts = _START.finditer(html)
    while place < len(html):
        for _ in range(_STEP):
            place = next((match.end() for match in starts), len(html))
            if place == len(html):
                break
        longer = _normal(html[: place - 2] if place < len(html) else html)
        if _depth(longer) > MAX_DEPTH:
            return longer, ("depth",) if place < len(html) else ()
        written = longer
    return written, ()


def _depth(written: str) -> int:
    steps = map(_STEPS.__getitem__, _NESTED.findall(written))
    return max(itertools.accumulate(steps), default=0)


def _seen(match: re.Match[str]) -> str:
    if match[2]:  # shown as it is written
        return "<pre>" + match[3].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "</pre>"
    if match[1] == "iframe":  # what it shows is another page
        return match[0][: match[0].index(">") + 1]
    return ""
