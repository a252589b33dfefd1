"""Text to shape: which of the closed list of shapes an answer has."""

import re
from functools import lru_cache

from .parse import FUNCTIONS, looks_like_word, parse
from .shapes import (
    EMPTY_SET,
    Assigned,
    Based,
    Clock,
    Collection,
    Group,
    Interval,
    Matrix,
    Opaque,
    Quantity,
    Ratio,
    Region,
    Relation,
    Rounded,
    Sequence,
    Shape,
    Words,
)
from .tidy import flatten
from .tree import (
    INFINITY,
    MINUS_INFINITY,
    Node,
    Num,
    Op,
    Sym,
    Unreadable,
    choose_signs,
    free_symbols,
    has,
    integer,
    is_infinite,
    negate,
)
from .units import DEGREE, split_scale, split_unit

_ELLIPSES = frozenset({r"\ldots", "..."})
_OPEN, _CLOSE = frozenset("([{⟨"), frozenset(")]}⟩")
_SMALL = str.split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBER_WORDS = {word: k for k, word in enumerate(_SMALL)} | _TENS
_NUMBER_WORDS |= {f"{t}-{_SMALL[k]}": _TENS[t] + k for t in _TENS for k in range(1, 10)} | {"hundred": 100}
_PHRASES: dict[str, str] = {
    "no solution": r"\emptyset", "no solutions": r"\emptyset", "no real solution": r"\emptyset",
    "no real solutions": r"\emptyset", "empty set": r"\emptyset", "the empty set": r"\emptyset",
    "there are no solutions": r"\emptyset", "there is no solution": r"\emptyset",
    "all real numbers": r"\mathbb{R}", "all reals": r"\mathbb{R}", "all real": r"\mathbb{R}",
    "the real numbers": r"\mathbb{R}", "real numbers": r"\mathbb{R}",
    "one half": "1/2", "a half": "1/2", "half": "1/2", "one third": "1/3", "a third": "1/3", "two thirds": "2/3",
    "one quarter": "1/4", "a quarter": "1/4", "one fourth": "1/4", "three quarters": "3/4", "three fourths": "3/4",
    "infinity": r"\infty", "positive infinity": r"\infty", "plus infinity": r"\infty",
    "negative infinity": r"-\infty", "minus infinity": r"-\infty",
    "dne": "does not exist", "undefined": "undefined",
}  # fmt: skip
_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
          "ten": "10", "twelve": "12", "sixteen": "16"}  # fmt: skip

_MATRIX = re.compile(
    r"(?P<scale>[^&]*?)\\begin\{(?P<kind>[pbBv]?matrix|smallmatrix|array)\}(?:\{[^{}]*\})?(?P<body>.*)"
    r"\\end\{(?P=kind)\}\s*(?P<transpose>\^\s*\{?\s*(?:T|\\top|\\text\{T\})\s*\}?)?",
    re.DOTALL,
)
_CASES = re.compile(r"\\begin\{(?:cases|aligned|array|gathered)\}(?:\{[^{}]*\})?(.*)\\end\{\w+\}", re.DOTALL)
_LISTS = re.compile(r"\[\s*(\[[^\[\]]*\]\s*(?:,\s*\[[^\[\]]*\]\s*)*)\]")
_SEPARATOR = re.compile(
    r"\\text\{\s*,?\s*(?:and|or)\s*,?\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|\\lor|\\land|;|\\\\"
)
_AND = re.compile(r"(?<![A-Za-z])and(?![A-Za-z])|\\land")
_RELATION = re.compile(r"(?:\\leq|\\geq|\\neq|\\in)(?![A-Za-z])|\\text\{\s*in\s*\}|<=|>=|!=|=|<|>")
_SIGNS = {r"\leq": "<=", r"\geq": ">=", r"\neq": "!=", "==": "="}
_APPROX = re.compile(r"\\approx(?![A-Za-z])")
_NAME = re.compile(
    r"(?:[A-Za-z](?:_(?:\w|\{[^{}]*\}))?'*\s*\(\s*[A-Za-z](?:\s*,\s*[A-Za-z])*\s*\)|[fghFGPE]\s*\(\s*-?\d+\s*\)|[A-Z]{2,3}"
    r"|\\angle\s*[A-Z]{1,3}|\|?[A-Z]{2}\|?|(?:m)?\\angle\s*\{?[A-Z]{1,3}\}?|\\overline\{[A-Z]{2}\}|\\text\{[^{}\d]*\})"
)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})\s*([ap]\.?\s?m\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})\s*([ap]\.?\s?m\.?)", re.IGNORECASE)
_BASED = re.compile(
    r"\(?\s*([0-9A-Za-z]+)\s*\)?\s*_\s*"
    r"(?:(\d)|\{\s*(\d+|[a-z]+)\s*\}|\\text\{\s*(\w+)\s*\}|\{\s*\\text\{\s*(\w+)\s*\}\s*\})"
)
_BASE_WORDS = re.compile(r"(\w+)\s*\(?\s*(?:in )?base[ -](\w+)\)?")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_PROSE = re.compile(r"[A-Za-z][A-Za-z'.-]*(?:[ ,]+[A-Za-z'.-]+)*[.!]?")
_LETTER_OPTION = re.compile(r"\(?([A-Z])(?:\)|:|\.(?!\w))\s*(.*)", re.DOTALL)
_REPEATING_DOTS = re.compile(r"(\d*\.\d*?)(\d)\2+\s*(?:\\ldots|\.\.\.)")


@lru_cache(maxsize=4096)
def read(text: str, *, grouping: bool = True) -> Shape:
    """The shape of tidied text; `grouping` reads `1,000` outside brackets as one number.

    Raises:
        TooBig: it is nested too deeply or holds too large a literal.
    """
    try:
        return _read(text.strip(), grouping)
    except Unreadable:
        return Opaque(text)


def is_grouped(text: str) -> bool:
    """Whether a comma in the text can be read as a thousands separator."""
    return _GROUPED.search(text) is not None


def _read(text: str, grouping: bool) -> Shape:
    if not text:
        raise Unreadable("empty")
    plain = flatten(text)
    if (prose := _prose(plain)) is not None:
        return prose if isinstance(prose, Words) else _read(prose, grouping)
    if grouping:
        text = _ungroup(text)
    text = _REPEATING_DOTS.sub(lambda m: f"{m[1]}\\overline{{{m[2]}}}", text)
    for reader in (_matrix, _clock, _based, _listing, _set, _relation, _union, _group, _ratio):
        if (shape := reader(text)) is not None:
            return shape
    return _quantity(text)


def _prose(plain: str) -> Words | str | None:
    """Words for text without mathematics; a string where the words name something that is read instead."""
    if option := _LETTER_OPTION.fullmatch(plain):
        return Words((option[1], *option[2].split()))
    if not _PROSE.fullmatch(plain) or "," in plain:
        return None
    phrase = plain.rstrip(".!").lower()
    if phrase in _PHRASES:
        return _PHRASES[phrase] if phrase not in ("dne", "undefined") else Words(tuple(_PHRASES[phrase].split()))
    if phrase in _NUMBER_WORDS:
        return str(_NUMBER_WORDS[phrase])
    words = re.split(r"[ ,]+", plain.rstrip(".!"))
    if len(words) > 1 and words[0].lower() in ("the", "a", "an") and len(words[1]) > 1:
        words = words[1:]
    if len(words) == 1 and (not looks_like_word(plain) or plain in ("pi", "infty")):
        return None
    first = words[0].lower()
    if len(words) > 1 and first in _NUMBER_WORDS:
        return " ".join((str(_NUMBER_WORDS[first]), *words[1:]))
    if all(len(word) == 1 for word in words) or any(word in ("and", "or") for word in words):
        return None
    if any(word in ("sqrt", "sin", "cos", "tan", "log", "ln", "pi") for word in words):
        return None
    return Words(tuple(word.lower() if len(word) > 1 else word for word in words))


def _ungroup(text: str) -> str:
    """Join thousands outside brackets; inside braces of a LaTeX command too."""

    def join(match: re.Match[str]) -> str:
        before = text[: match.start()]
        stack: list[str] = []
        for k, char in enumerate(before):
            if char in _OPEN:
                stack.append("\\{" if char == "{" and before[k - 1 : k] == "\\" else char)
            elif char in _CLOSE and stack:
                stack.pop()
        return match[0].replace(",", "") if all(char == "{" for char in stack) else match[0]

    return _GROUPED.sub(join, text)


def _split(text: str, separator: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Cut the text at separators outside brackets; the pieces, and the separators between them.

    Raises:
        Unreadable: brackets do not balance.
    """
    depth, start, pieces, cuts = 0, 0, [], []
    position = 0
    while position < len(text):
        char = text[position]
        if depth == 0 and (match := separator.match(text, position)):
            pieces.append(text[start:position].strip())
            cuts.append(match[0])
            position = start = match.end()
            continue
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth < 0:
            raise Unreadable("brackets do not balance")
        position += 1
    if depth:
        raise Unreadable("brackets do not balance")
    pieces.append(text[start:].strip())
    return pieces, cuts


_COMMA = re.compile(",")
_COLON = re.compile(r":|\\text\{\s*to\s*\}|(?<=\d) to (?=\d)")
_BAR = re.compile(r"\||:|\\text\{\s*such that\s*\}")
_CUP = re.compile(r"\\cup(?![A-Za-z])")
_MINUS_SET = re.compile(r"\\setminus(?![A-Za-z])|-(?=\s*\\\{)")


def _matrix(text: str) -> Shape | None:
    for opening, closing in ("()", "[]"):
        inner = _inside(text, opening, closing)
        if inner is not None and inner.startswith(r"\begin"):
            text = inner
    match = _MATRIX.fullmatch(text)
    if match is not None:
        if match["kind"] == "vmatrix":
            raise Unreadable("a determinant")
        rows = [[cell.strip() for cell in row.split("&")] for row in re.split(r"\\\\", match["body"]) if row.strip()]
    elif match_list := _LISTS.fullmatch(text):
        rows = [[cell.strip() for cell in row.split(",")] for row in re.findall(r"\[([^\[\]]*)\]", match_list[1])]
    elif cases := _CASES.fullmatch(text):
        return _several([row.replace("&", " ").strip(" ,") for row in re.split(r"\\\\", cases[1]) if row.strip()])
    else:
        return None
    if not rows or len({len(row) for row in rows}) != 1:
        raise Unreadable("rows of different lengths")
    cells = [[_single(cell) for cell in row] for row in rows]
    scale = match["scale"].strip().removesuffix(r"\cdot").strip() if match else ""
    if scale:
        factor = negate(integer(1)) if scale == "-" else _single(scale)
        cells = [[Op("mul", (factor, cell)) for cell in row] for row in cells]
    if match and match["transpose"]:
        cells = [list(column) for column in zip(*cells, strict=True)]
    return Matrix(tuple(tuple(row) for row in cells))


def _clock(text: str) -> Shape | None:
    plain = flatten(text)
    if (match := _CLOCK.fullmatch(plain)) and int(match[2]) < 60:
        half = (match[3] or "").lower()[:1]
        return Clock(int(match[1]), int(match[2]), half, not half and match[2] != "00" and int(match[1]) > 0)
    if (match := _HOUR.fullmatch(plain)) and int(match[1]) <= 12:
        return Clock(int(match[1]), 0, match[2].lower()[:1], False)
    return None


def _based(text: str) -> Shape | None:
    if match := _BASED.fullmatch(text):
        base = next(group for group in match.groups()[1:] if group)
        base = _BASES.get(base, base)
        if match[1][0].isdigit() and base.isdigit():
            return _in_base(match[1], base)
    if match := _BASE_WORDS.fullmatch(flatten(text)):
        base = _BASES.get(match[2], match[2])
        if match[1][0].isdigit() and base.isdigit():
            return _in_base(match[1], base)
    return None


def _in_base(digits: str, base: str) -> Based:
    try:
        int(digits, int(base))
    except ValueError:
        raise Unreadable("digits that the base does not have") from None
    return Based(digits.lower().lstrip("0") or "0", base)


def _listing(text: str) -> Shape | None:
    """Several answers: at `and`, `or`, `;`, else at commas."""
    pieces, cuts = _split(text, _SEPARATOR)
    if len(pieces) == 1:
        pieces, cuts = _split(text, _COMMA)
        if len(pieces) == 1:
            return None
    else:
        if len(pieces) == 2 and (clause := _condition(pieces, cuts)) is not None:
            return clause
        pieces = [piece for part in pieces for piece in _split(part.strip(" ,"), _COMMA)[0]]
    return _several(pieces)


def _condition(pieces: list[str], cuts: list[str]) -> Shape | None:
    """Two conditions on one variable, joined: a union for `or`, the common part for `and`."""
    try:
        shapes = [_read(piece.strip(" ,"), True) for piece in pieces]
    except Unreadable:
        return None
    if len(shapes) != 2 or not all(isinstance(shape, Region) for shape in shapes):
        return None
    first, second = shapes
    if not isinstance(first, Region) or not isinstance(second, Region) or first.variable != second.variable:
        return None
    if not _AND.search(cuts[0]):
        return Region((*first.inside, *second.inside), (*first.outside, *second.outside), first.variable)
    return _meet(first, second)


def _meet(first: Region, second: Region) -> Region:
    """The common part of two regions: what a union of complements leaves."""
    if len(first.inside) == len(second.inside) == 1:
        a, b = first.inside[0], second.inside[0]
        if is_infinite(a.low) and is_infinite(b.high):
            a, b = b, a
        if is_infinite(a.high) and is_infinite(b.low):
            merged = Interval(a.low, b.high, a.low_closed, b.high_closed)
            return Region((merged,), (*first.outside, *second.outside), first.variable)
    if first.inside == second.inside:
        return Region(first.inside, (*first.outside, *second.outside), first.variable)
    raise Unreadable("an intersection")


def _single(text: str) -> Node:
    """The tree of an expression in which no sign is left open."""
    tree = parse(text)
    if has(tree, "pm", "mp"):
        raise Unreadable("a sign pair inside another shape")
    return tree


def _several(pieces: list[str]) -> Shape:
    """A list of answers, or an ordered sequence where an ellipsis is among them."""
    if not pieces or not all(pieces):
        raise Unreadable("an empty item")
    if any(piece in _ELLIPSES for piece in pieces):
        return Sequence(tuple(None if piece in _ELLIPSES else _read(piece, True) for piece in pieces), ",")
    items: list[Shape] = []
    name: str | None = None
    for piece in pieces:
        shape = _read(piece, True)
        if isinstance(shape, Assigned):
            name = shape.name
        elif name is not None and isinstance(shape, Quantity) and len(pieces) > 1:
            shape = Assigned(name, (shape,))
        items.extend(shape.items if isinstance(shape, Collection) and not shape.braces else [shape])
    regions = [item for item in items if isinstance(item, Region)]
    if regions and len(regions) == len(items) and all(item.variable is not None for item in regions):
        merged = regions[0]
        for region in regions[1:]:
            if region.variable != merged.variable:
                break
            merged = _meet(merged, region)
        else:
            return merged
    return Collection(tuple(items)) if len(items) > 1 else items[0]


def _set(text: str) -> Shape | None:
    if re.fullmatch(r"\\emptyset", text) or re.fullmatch(r"\\\{\s*\\?\}", text):
        return EMPTY_SET
    inner = _inside(text, r"\{", r"\}")
    if inner is None and (inner := _inside(text, "{", "}")) is not None and "," not in inner:
        return None
    if inner is None:
        return None
    parts, _ = _split(inner, _BAR)
    if len(parts) == 2 and re.fullmatch(r"[A-Za-z](?:\s*\\in\s*\\mathbb\{R\})?", parts[0]):
        region = _read(parts[1], True)
        if isinstance(region, Region) and region.variable == parts[0][0]:
            return Region(region.inside, region.outside)
        raise Unreadable("a set by a condition that is no region")
    pieces, _ = _split(inner, _COMMA)
    if len(pieces) == 1:
        item = _read(inner, True)
        several = isinstance(item, Collection) and not item.braces
        return Collection(item.items if isinstance(item, Collection) and several else (item,), braces=True)
    items = _several(pieces)
    if isinstance(items, Sequence):
        return Sequence(items.items, "{")
    return Collection(items.items, braces=True) if isinstance(items, Collection) else items


def _inside(text: str, opening: str, closing: str) -> str | None:
    """What stands between the brackets, if one pair of them encloses the whole."""
    if not (text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening) + len(closing)):
        return None
    inner = text[len(opening) : -len(closing)]
    depth = 0
    for char in inner:
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth < 0:
            return None
    return inner.strip() if depth == 0 else None


def _relation(text: str) -> Shape | None:
    exact, about = _split(text, _APPROX)
    if about and exact[0]:
        name = _name(exact[0])
        value = _read(exact[-1], True)
        if name is not None:
            return Assigned(name, (value,))
        first = _read(exact[0], True)
        if not isinstance(first, Quantity) or not isinstance(value, Quantity) or len(exact) > 2:
            raise Unreadable("approximations of something else")
        return Rounded(first, value.value)
    parts, signs = _split(text, _RELATION)
    if not signs or not parts[-1]:
        return None
    signs = [_SIGNS.get(sign, sign) for sign in signs]
    if signs == [r"\in"] or (len(signs) == 1 and "in" in signs[0]):
        return _membership(parts[0], parts[1])
    if all(sign == "=" for sign in signs):
        return _equation(parts)
    if "=" in signs or any("in" in sign for sign in signs):
        raise Unreadable("mixed relations")
    return _inequality(parts, signs)


def _membership(name: str, text: str) -> Shape:
    shape = _read(text, True)
    if isinstance(shape, Group) and len(shape.items) == 2:
        shape = as_region(shape) or shape
    if isinstance(shape, Region) and re.fullmatch(r"\\?[A-Za-z]+(_\w)?", name):
        return Region(shape.inside, shape.outside, name)
    if isinstance(shape, Collection) and _name(name) is not None:
        return shape
    raise Unreadable("membership of something else")


def _equation(parts: list[str]) -> Shape:
    name = _name(parts[0])
    if name is None and len(parts) == 2 and parts[1] and (flipped := _name(parts[1])) is not None:
        left = _read(parts[0], True)
        if isinstance(left, Quantity) and not free_symbols(left.value):
            return Assigned(flipped, (left,))
    if name is not None or (len(parts) > 2 and not parts[0]):
        values = [_read(part, True) for part in parts[1:]]
        if len(values) == 1 and isinstance(values[0], Collection) and not values[0].braces:
            return Collection(tuple(Assigned(name, (value,)) for value in values[0].items))
        names = _tuple_names(parts[0])
        if names:
            raise Unreadable("names of a tuple")
        return Assigned(name, tuple(values))
    names = _tuple_names(parts[0])
    if names is not None and len(parts) == 2:
        value = _read(parts[1], True)
        if isinstance(value, Group) and len(value.items) == len(names):
            return Collection(tuple(Assigned(n, (item,)) for n, item in zip(names, value.items, strict=True)))
        if isinstance(value, Collection):
            return value
        raise Unreadable("a tuple of names against something else")
    trees = [parse(part) for part in parts]
    if not any(free_symbols(tree) for tree in trees):
        return Assigned(None, tuple(Quantity(tree) for tree in trees))
    if len(trees) != 2:
        raise Unreadable("a chain of equations")
    relations = [Relation(left, "=", right) for left in choose_signs(trees[0]) for right in choose_signs(trees[1])]
    return relations[0] if len(relations) == 1 else Collection(tuple(relations))


def _name(text: str) -> str | None:
    """The name on the left of an assignment: a symbol, `f(x)`, a segment, or words."""
    text = text.strip()
    if _NAME.fullmatch(text):
        return re.sub(r"\s", "", flatten(text))
    try:
        tree = parse(text)
    except Unreadable:
        return None
    return tree.name if isinstance(tree, Sym) and free_symbols(tree) else None


def _tuple_names(text: str) -> list[str] | None:
    inner = _inside(text.strip(), "(", ")")
    if inner is None or "," not in inner:
        return None
    names = [_name(part) for part in inner.split(",")]
    return None if any(name is None for name in names) else [name for name in names if name is not None]


def _inequality(parts: list[str], signs: list[str]) -> Shape:
    trees = [_single(part) for part in parts]
    flip = {">": "<", ">=": "<="}
    if len(trees) == 2:
        left, right, sign = trees[0], trees[1], signs[0]
        if sign in flip:
            left, right, sign = right, left, flip[sign]
        if (region := _ray(left, sign, right)) is not None:
            return region
        return Relation(left, sign, right)
    if len(trees) == 3 and not any(sign == "!=" for sign in signs):
        if all(sign in flip for sign in signs):
            trees.reverse()
            signs = [flip[sign] for sign in reversed(signs)]
        middle = trees[1]
        ends = free_symbols(trees[0]) | free_symbols(trees[2])
        if any(sign in flip for sign in signs) or not isinstance(middle, Sym) or middle.name in ends:
            raise Unreadable("a chain that is no interval")
        interval = Interval(trees[0], trees[2], signs[0] == "<=", signs[1] == "<=")
        return Region((interval,), (), middle.name)
    raise Unreadable("a chain of relations")


def _ray(left: Node, sign: str, right: Node) -> Region | None:
    """`x < a`, `a < x` or `x != a` as a region in x; the same for `|x|`."""
    closed = sign == "<="
    if isinstance(left, Op) and left.name == "abs" and isinstance(left.args[0], Sym) and not free_symbols(right):
        if sign == "!=":
            return None
        return Region((Interval(negate(right), right, closed, closed),), (), left.args[0].name)
    if isinstance(right, Op) and right.name == "abs" and isinstance(right.args[0], Sym) and not free_symbols(left):
        if sign == "!=":
            return None
        rays = (Interval(MINUS_INFINITY, negate(left), False, closed), Interval(left, INFINITY, closed, False))
        return Region(rays, (), right.args[0].name)
    if isinstance(left, Sym) and free_symbols(left) and left.name not in free_symbols(right):
        if isinstance(right, Sym) and free_symbols(right):
            return None
        if sign == "!=":
            return Region((_LINE,), (_point(right),), left.name)
        return Region((Interval(MINUS_INFINITY, right, False, closed),), (), left.name)
    if isinstance(right, Sym) and free_symbols(right) and right.name not in free_symbols(left):
        if sign == "!=":
            return Region((_LINE,), (_point(left),), right.name)
        return Region((Interval(left, INFINITY, closed, False),), (), right.name)
    return None


_LINE = Interval(MINUS_INFINITY, INFINITY, False, False)


def _point(node: Node) -> Interval:
    return Interval(node, node, True, True)


def _union(text: str) -> Shape | None:
    pieces, cuts = _split(text, _MINUS_SET)
    if cuts:
        if len(pieces) != 2:
            raise Unreadable("a chain of differences")
        inside, outside = as_region(_read(pieces[0], True)), as_region(_read(pieces[1], True))
        if inside is None or outside is None or inside.outside or outside.outside:
            raise Unreadable("a difference of other sets")
        return Region(inside.inside, outside.inside)
    pieces, cuts = _split(text, _CUP)
    if cuts:
        regions = [as_region(_read(piece, True)) for piece in pieces]
        kept = [region for region in regions if region is not None and not region.outside]
        if len(kept) != len(regions):
            raise Unreadable("a union of other sets")
        return Region(tuple(interval for region in kept for interval in region.inside))
    if text in (r"\mathbb{R}", "mathbb{R}"):
        return Region((_LINE,))
    return None


def as_region(shape: Shape) -> Region | None:
    """The shape as a set of reals: an interval for a pair in brackets, points for a set of numbers."""
    if isinstance(shape, Region):
        return shape
    if isinstance(shape, Group) and len(shape.items) == 2 and shape.opening in ("(", "["):
        low, high = shape.items
        if isinstance(low, Quantity) and isinstance(high, Quantity) and not (low.unit or high.unit):
            return Region((Interval(low.value, high.value, shape.opening == "[", shape.closing == "]"),))
    if isinstance(shape, Collection) and shape.braces:
        values = [item.value for item in shape.items if isinstance(item, Quantity) and item.unit is None]
        if len(values) == len(shape.items):
            return Region(tuple(_point(value) for value in values))
    return None


def _group(text: str) -> Shape | None:
    if inner := _inside(text, "⟨", "⟩"):
        pieces, _ = _split(inner, _COMMA)
        return Group("<", tuple(_read(piece, True) for piece in pieces), ">")
    if len(text) < 3 or text[0] not in "([" or text[-1] not in ")]":
        return None
    inner = _inside(text, text[0], text[-1])
    if inner is None:
        return None
    pieces, cuts = _split(inner, _COMMA)
    if not cuts:
        if text[0] + text[-1] == "()" and re.fullmatch(r"[A-Z]", inner):
            return Words((inner,))
        return _read(inner, True) if text[0] + text[-1] == "()" and _NESTED.fullmatch(inner) else None
    if any(piece in _ELLIPSES for piece in pieces):
        ordered = tuple(None if piece in _ELLIPSES else _read(piece, True) for piece in pieces)
        return Sequence(ordered, text[0])
    group = Group(text[0], tuple(_read(piece, True) for piece in pieces), text[-1])
    if len(pieces) == 2:
        low, high = group.items
        infinite = any(isinstance(item, Quantity) and is_infinite(item.value) for item in (low, high))
        if infinite or group.opening + group.closing in ("[)", "(]"):
            region = as_region(group)
            if region is None:
                raise Unreadable("an interval of other things")
            return region
    elif group.opening + group.closing in ("[)", "(]"):
        raise Unreadable("half-open brackets")
    return group


_NESTED = re.compile(r"[(\[].*[)\]]", re.DOTALL)


def _ratio(text: str) -> Shape | None:
    pieces, cuts = _split(text, _COLON)
    if not cuts:
        return None
    if any(piece in _ELLIPSES for piece in pieces):
        return Sequence(tuple(None if piece in _ELLIPSES else _read(piece, True) for piece in pieces), ":")
    return Ratio(tuple(_single(piece) for piece in pieces))


def _quantity(text: str) -> Shape:
    value_text, unit = split_unit(split_scale(text))
    trees = choose_signs(parse(split_scale(value_text)))
    if unit is not None and unit.dimensions == DEGREE and any(has(tree, *FUNCTIONS) for tree in trees):
        trees, unit = choose_signs(parse(text)), None
    quantities = [Quantity(simple(tree), unit) for tree in trees]
    if len(quantities) == 1:
        return quantities[0]
    return Collection(tuple(quantities))


def simple(tree: Node) -> Node:
    """Fold the sign of a literal into it, so that `-5` is one number; drop a plus sign's remains."""
    if isinstance(tree, Op) and tree.name == "neg" and isinstance(tree.args[0], Num):
        number = tree.args[0]
        return Num(-number.value, number.places)
    return tree
