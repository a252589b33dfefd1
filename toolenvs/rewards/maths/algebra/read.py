"""Text to shape: which of the closed list of shapes an answer has."""

import re
from functools import lru_cache, reduce

from .cut import COMMA, ELLIPSES, inside, split, ungroup
from .notation import based, clock
from .parse import FUNCTIONS, parse
from .prose import prose
from .regions import LINE, as_region, inequality, join, meet, single
from .shapes import (
    EMPTY_SET,
    Assigned,
    Collection,
    Group,
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
_COLON = re.compile(r":|\\text\{\s*to\s*\}|(?<=\d) to (?=\d)")
_BAR = re.compile(r"\||:|\\text\{\s*such that\s*\}")
_CUP = re.compile(r"\\cup(?![A-Za-z])")
_MINUS_SET = re.compile(r"\\setminus(?![A-Za-z])|-(?=\s*\\\{)")
_APPROX = re.compile(r"\\approx(?![A-Za-z])")
_NAME = re.compile(
    r"(?:[A-Za-z](?:_(?:\w|\{[^{}]*\}))?'*\s*\(\s*[A-Za-z](?:\s*,\s*[A-Za-z])*\s*\)|[fghFGPE]\s*\(\s*-?\d+\s*\)|[A-Z]{2,3}"
    r"|\\angle\s*[A-Z]{1,3}|\|?[A-Z]{2}\|?|(?:m)?\\angle\s*\{?[A-Z]{1,3}\}?|\\overline\{[A-Z]{2}\}|\\text\{[^{}\d]*\})"
)
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


def _read(text: str, grouping: bool) -> Shape:
    if not text:
        raise Unreadable("empty")
    plain = flatten(text)
    if (words := prose(plain)) is not None:
        return words if isinstance(words, Words) else _read(words, grouping)
    if grouping:
        text = ungroup(text)
    text = _REPEATING_DOTS.sub(lambda m: f"{m[1]}\\overline{{{m[2]}}}", text)
    for reader in (_matrix, clock, based, _listing, _set, _relation, _union, _group, _ratio):
        if (shape := reader(text)) is not None:
            return shape
    return _quantity(text)


def _matrix(text: str) -> Shape | None:
    for opening, closing in ("()", "[]"):
        inner = inside(text, opening, closing)
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
    cells = [[single(cell) for cell in row] for row in rows]
    scale = match["scale"].strip().removesuffix(r"\cdot").strip() if match else ""
    if scale:
        factor = negate(integer(1)) if scale == "-" else single(scale)
        cells = [[Op("mul", (factor, cell)) for cell in row] for row in cells]
    if match and match["transpose"]:
        cells = [list(column) for column in zip(*cells, strict=True)]
    return Matrix(tuple(tuple(row) for row in cells))


def _listing(text: str) -> Shape | None:
    """Several answers: at `and`, `or`, `;`, else at commas."""
    pieces, cuts = split(text, _SEPARATOR)
    if len(pieces) == 1:
        pieces, cuts = split(text, COMMA)
        if len(pieces) == 1:
            return None
    else:
        if (clause := _condition(pieces, cuts)) is not None:
            return clause
        pieces = [piece for part in pieces for piece in split(part.strip(" ,"), COMMA)[0]]
    return _several(pieces)


def _condition(pieces: list[str], cuts: list[str]) -> Shape | None:
    """Conditions on one variable, joined: a union for `or`, the common part for `and`; None for anything else."""
    try:
        shapes = [_read(piece.strip(" ,"), True) for piece in pieces]
    except Unreadable:
        return None
    regions = [shape for shape in shapes if isinstance(shape, Region)]
    if len(regions) < len(shapes) or len({region.variable for region in regions}) > 1:
        return None
    joints = {bool(_AND.search(cut)) for cut in cuts}
    if len(joints) > 1:
        raise Unreadable("conditions joined in two ways")
    return reduce(meet if joints.pop() else join, regions)


def _several(pieces: list[str]) -> Shape:
    """A list of answers, or an ordered sequence where an ellipsis is among them."""
    if not pieces or not all(pieces):
        raise Unreadable("an empty item")
    if any(piece in ELLIPSES for piece in pieces):
        return Sequence(tuple(None if piece in ELLIPSES else _read(piece, True) for piece in pieces), ",")
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
            merged = meet(merged, region)
        else:
            return merged
    return Collection(tuple(items)) if len(items) > 1 else items[0]


def _set(text: str) -> Shape | None:
    if re.fullmatch(r"\\emptyset", text) or re.fullmatch(r"\\\{\s*\\?\}", text):
        return EMPTY_SET
    inner = inside(text, r"\{", r"\}")
    if inner is None and (inner := inside(text, "{", "}")) is not None and "," not in inner:
        return None
    if inner is None:
        return None
    parts, _ = split(inner, _BAR)
    if len(parts) == 2 and re.fullmatch(r"[A-Za-z](?:\s*\\in\s*\\mathbb\{R\})?", parts[0]):
        region = _read(parts[1], True)
        if isinstance(region, Region) and region.variable == parts[0][0]:
            return Region(region.inside, region.outside)
        raise Unreadable("a set by a condition that is no region")
    pieces, _ = split(inner, COMMA)
    if len(pieces) == 1:
        item = _read(inner, True)
        several = isinstance(item, Collection) and not item.braces
        return Collection(item.items if isinstance(item, Collection) and several else (item,), braces=True)
    items = _several(pieces)
    if isinstance(items, Sequence):
        return Sequence(items.items, "{")
    return Collection(items.items, braces=True) if isinstance(items, Collection) else items


def _relation(text: str) -> Shape | None:
    exact, about = split(text, _APPROX)
    if about and exact[0]:
        name = _name(exact[0])
        value = _read(exact[-1], True)
        if name is not None:
            return Assigned(name, (value,))
        first = _read(exact[0], True)
        if not isinstance(first, Quantity) or not isinstance(value, Quantity) or len(exact) > 2:
            raise Unreadable("approximations of something else")
        return Rounded(first, value.value)
    parts, signs = split(text, _RELATION)
    if not signs or not parts[-1]:
        return None
    signs = [_SIGNS.get(sign, sign) for sign in signs]
    if signs == [r"\in"] or (len(signs) == 1 and "in" in signs[0]):
        return _membership(parts[0], parts[1])
    if all(sign == "=" for sign in signs):
        return _equation(parts)
    if "=" in signs or any("in" in sign for sign in signs):
        raise Unreadable("mixed relations")
    return inequality(parts, signs)


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
    inner = inside(text.strip(), "(", ")")
    if inner is None or "," not in inner:
        return None
    names = [_name(part) for part in inner.split(",")]
    return None if any(name is None for name in names) else [name for name in names if name is not None]


def _union(text: str) -> Shape | None:
    pieces, cuts = split(text, _MINUS_SET)
    if cuts:
        if len(pieces) != 2:
            raise Unreadable("a chain of differences")
        whole, part = as_region(_read(pieces[0], True)), as_region(_read(pieces[1], True))
        if whole is None or part is None or whole.outside or part.outside:
            raise Unreadable("a difference of other sets")
        return Region(whole.inside, part.inside)
    pieces, cuts = split(text, _CUP)
    if cuts:
        regions = [as_region(_read(piece, True)) for piece in pieces]
        kept = [region for region in regions if region is not None and not region.outside]
        if len(kept) != len(regions):
            raise Unreadable("a union of other sets")
        return Region(tuple(interval for region in kept for interval in region.inside))
    if text in (r"\mathbb{R}", "mathbb{R}"):
        return Region((LINE,))
    return None


def _group(text: str) -> Shape | None:
    if inner := inside(text, "⟨", "⟩"):
        pieces, _ = split(inner, COMMA)
        return Group("<", tuple(_read(piece, True) for piece in pieces), ">")
    if len(text) < 3 or text[0] not in "([" or text[-1] not in ")]":
        return None
    inner = inside(text, text[0], text[-1])
    if inner is None:
        return None
    pieces, cuts = split(inner, COMMA)
    if not cuts:
        if text[0] + text[-1] == "()" and re.fullmatch(r"[A-Z]", inner):
            return Words((inner,))
        return _read(inner, True) if text[0] + text[-1] == "()" and _NESTED.fullmatch(inner) else None
    if any(piece in ELLIPSES for piece in pieces):
        ordered = tuple(None if piece in ELLIPSES else _read(piece, True) for piece in pieces)
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
    pieces, cuts = split(text, _COLON)
    if not cuts:
        return None
    if any(piece in ELLIPSES for piece in pieces):
        return Sequence(tuple(None if piece in ELLIPSES else _read(piece, True) for piece in pieces), ":")
    return Ratio(tuple(single(piece) for piece in pieces))


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
