"""Whether two shapes are the same answer. Each pair of shapes has its rule; a pair without one is a mismatch."""

import math
import re
from fractions import Fraction

from .budget import MAX_ITEMS
from .cut import is_grouped
from .decide import Decider
from .exact import Undefined
from .read import read
from .regions import as_region
from .shapes import (
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
from .tidy import same_text
from .tree import (
    Node,
    Num,
    Op,
    Sym,
    TooBig,
    clear_denominators,
    free_symbols,
    has,
    integer,
    is_infinite,
    rename,
    subtract,
)
from .units import DEGREE, PERCENT, RADIAN

_ROUNDING = 0.05
"""How far, relatively, the second value of `a \\approx b` may be from the first."""
_DIGITS = re.compile(r"\d+")
_HEDGES = frozenset({"or", "and", "not", "maybe", "but"})
_INDEX = re.compile(r"_\d+$")


def same_answer(gold: str, answer: str, decider: Decider) -> bool:
    """Whether two tidied texts are the same answer.

    Raises:
        NeedsChild: exact arithmetic cannot decide.
        TooBig: the answer is beyond a bound.
    """
    if same_text(gold, answer):
        return True
    left, right = read(gold), read(answer)
    if isinstance(left, Collection) != isinstance(right, Collection):
        if isinstance(left, Collection) and len(left.items) > 1 and is_grouped(answer):
            right = read(answer, grouping=False)
        elif isinstance(right, Collection) and len(right.items) > 1 and _same_digits(gold, answer):
            left = read(gold, grouping=False)
    try:
        return Comparison(decider).same(left, right)
    except Undefined:  # an interval whose end is no real number
        return False


def _same_digits(gold: str, answer: str) -> bool:
    """Whether a gold such as `100,200` is grouped by its looks only: the answer lists the very same digits."""
    return is_grouped(gold) and sorted(_DIGITS.findall(gold)) == sorted(_DIGITS.findall(answer))


class Comparison:
    """Compares shapes, asking `decider` about expressions. The gold shape comes first everywhere."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    def same(self, gold: Shape, answer: Shape) -> bool:
        """Whether two shapes are the same answer."""
        if gold == answer:
            return True
        if isinstance(gold, Opaque) or isinstance(answer, Opaque):
            return isinstance(gold, Opaque) and isinstance(answer, Opaque) and same_text(gold.text, answer.text)
        if isinstance(answer, Rounded):
            return self._near(answer) and self.same(gold, answer.exact)
        if isinstance(gold, Rounded):
            return self.same(gold.exact, answer)
        if isinstance(gold, Assigned) or isinstance(answer, Assigned):
            return self._assigned(gold, answer)
        if isinstance(gold, Region) or isinstance(answer, Region):
            left, right = _as_inequality(gold), _as_inequality(answer)
            if left is not None and right is not None:
                return self._relations(left, right)
            return self._regions(gold, answer)
        if isinstance(gold, Collection) or isinstance(answer, Collection):
            return self._collections(gold, answer)
        if isinstance(gold, Words) or isinstance(answer, Words):
            return _words(gold, answer)
        match gold, answer:
            case Quantity(), Quantity():
                return self._quantities(gold, answer)
            case Group(), Group():
                return self._groups(gold, answer)
            case Sequence(), Sequence():
                return self._sequences(gold, answer)
            case Relation(), Relation():
                return self._relations(gold, answer)
            case Matrix(), Matrix():
                return self._matrices(gold, answer)
            case ((Clock() | Ratio()), (Clock() | Ratio())):
                return self._colons(gold, answer)
            case (Ratio(), Quantity()) | (Quantity(), Ratio()):
                return self._ratio_and_fraction(gold, answer)
            case Based(), Quantity():
                return _digits_of(answer) == gold.digits
            case Quantity(), Based():
                return _digits_of(gold) == answer.digits
        return False

    def _quantities(self, gold: Quantity, answer: Quantity) -> bool:
        left, right = gold.value, answer.value
        if has(right, "j") and has(left, "i") and not has(left, "j"):
            right = rename(right, "j", "i")
        ours, theirs = gold.unit, answer.unit
        if ours is None and theirs is None:
            return self._decider.equal(left, right)
        if ours is not None and theirs is not None:
            if {ours.dimensions, theirs.dimensions} == {DEGREE, RADIAN}:
                return self._decider.equal(_radians(gold), _radians(answer))
            if ours.dimensions != theirs.dimensions:
                return False
            return self._decider.equal(_scaled(left, ours.factor), _scaled(right, theirs.factor))
        dimensions = (ours or theirs).dimensions  # type: ignore[union-attr]
        if dimensions == PERCENT:
            return self._percent(gold, answer)
        if dimensions == DEGREE and has(right if ours else left, r"\pi"):
            return self._decider.equal(_radians(gold), _radians(answer))
        return self._decider.equal(left, right)

    def _near(self, rounded: Rounded) -> bool:
        if free_symbols(rounded.exact.value) or free_symbols(rounded.about):
            return False
        exact, about = (float(self._decider.position(node)) for node in (rounded.exact.value, rounded.about))
        return abs(exact - about) <= _ROUNDING * abs(exact)

    def _percent(self, gold: Quantity, answer: Quantity) -> bool:
        """One side has the sign: the values agree, or its number does where the other side is no proportion."""
        signed, bare = (gold, answer) if gold.unit else (answer, gold)
        if self._decider.equal(Op("div", (signed.value, integer(100))), bare.value):
            return True
        if gold.unit is None and not free_symbols(bare.value) and -1 <= self._decider.position(bare.value) <= 1:
            return False
        return self._decider.equal(gold.value, answer.value)

    def _assigned(self, gold: Shape, answer: Shape) -> bool:
        if isinstance(gold, Assigned) and isinstance(answer, Assigned):
            if gold.name is not None and answer.name is None:
                return False
            if gold.name is None or answer.name is None or _same_name(gold.name, answer.name):
                return all(self.same(gold.values[-1], value) for value in answer.values)
        elif isinstance(answer, Assigned):
            if not isinstance(gold, Relation):
                return all(self.same(gold, value) for value in answer.values)
        elif isinstance(gold, Assigned) and not isinstance(answer, Relation | Collection | Region):
            return self.same(gold.values[-1], answer)
        elif isinstance(gold, Assigned) and isinstance(answer, Region | Collection):
            return answer.__class__ is gold.values[-1].__class__ and self.same(gold.values[-1], answer)
        named = isinstance(gold, Assigned) and isinstance(answer, Assigned)
        left, right = _as_relation(gold, keep_names=named), _as_relation(answer, keep_names=named)
        return left is not None and right is not None and self._relations(left, right)

    def _relations(self, gold: Relation, answer: Relation) -> bool:
        """Equal up to a constant factor, a positive one where there is a direction; denominators are cleared first."""
        if gold.sign != answer.sign:
            return False
        ours, theirs = subtract(gold.left, gold.right), subtract(answer.left, answer.right)
        sign = self._decider.proportional(ours, theirs)
        if gold.sign in ("<", "<="):
            return sign > 0
        if sign:
            return True
        return self._decider.proportional(clear_denominators(ours)[0], clear_denominators(theirs)[0]) != 0

    def _groups(self, gold: Group, answer: Group) -> bool:
        if len(gold.items) != len(answer.items):
            return False
        ours, theirs = gold.opening + gold.closing, answer.opening + answer.closing
        if ours != theirs and {ours, theirs} != {"()", "<>"}:
            return False
        return all(map(self.same, gold.items, answer.items))

    def _sequences(self, gold: Sequence, answer: Sequence) -> bool:
        if gold.kind != answer.kind or len(gold.items) != len(answer.items):
            return False
        for ours, theirs in zip(gold.items, answer.items, strict=True):
            if ours is None or theirs is None:
                if ours is not theirs:
                    return False
            elif not self.same(ours, theirs):
                return False
        return True

    def _matrices(self, gold: Matrix, answer: Matrix) -> bool:
        if len(gold.rows) != len(answer.rows) or len(gold.rows[0]) != len(answer.rows[0]):
            return False
        pairs = zip(
            (cell for row in gold.rows for cell in row), (cell for row in answer.rows for cell in row), strict=True
        )
        return all(self._decider.equal(ours, theirs) for ours, theirs in pairs)

    def _colons(self, gold: Clock | Ratio, answer: Clock | Ratio) -> bool:
        """Times agree to the minute; ratios up to a factor, but not where both sides look like times."""
        if isinstance(gold, Clock) and isinstance(answer, Clock):
            if (gold.hours, gold.minutes) != (answer.hours, answer.minutes):
                return False
            return gold.half == answer.half or not (gold.half and answer.half)
        if isinstance(gold, Clock) and math.gcd(gold.hours, gold.minutes) != 1:
            return False  # a ratio would have been reduced
        parts = []
        for side in (gold, answer):
            if isinstance(side, Ratio):
                parts.append(side.parts)
            elif side.as_ratio:
                parts.append((integer(side.hours), integer(side.minutes)))
            else:
                return False
        ours, theirs = parts
        if len(ours) != len(theirs):
            return False
        return all(
            self._decider.equal(Op("mul", (ours[0], b)), Op("mul", (theirs[0], a)))
            for a, b in zip(ours[1:], theirs[1:], strict=True)
        )

    def _ratio_and_fraction(self, gold: Shape, answer: Shape) -> bool:
        ratio, other = (gold, answer) if isinstance(gold, Ratio) else (answer, gold)
        if not isinstance(ratio, Ratio) or not isinstance(other, Quantity) or len(ratio.parts) != 2 or other.unit:
            return False
        if not (isinstance(other.value, Op) and other.value.name == "div"):
            return False
        return self._decider.equal(Op("div", (ratio.parts[0], ratio.parts[1])), other.value)

    def _collections(self, gold: Shape, answer: Shape) -> bool:
        if isinstance(gold, Collection) and isinstance(answer, Group):
            return self._named_tuple(gold, answer)
        if isinstance(gold, Group) and isinstance(answer, Collection):
            return self._named_tuple(answer, gold)
        if not isinstance(gold, Collection) or not isinstance(answer, Collection):
            return False
        if gold.braces and answer.braces and not (gold.items and answer.items):
            return gold.items == answer.items
        ours, theirs = _without_one_name(gold.items, answer.items)
        if max(len(ours), len(theirs)) > MAX_ITEMS:
            raise TooBig("too many items")
        if _names(ours) != _names(theirs) and {None} in (_names(ours), _names(theirs)):
            return False
        if gold.braces or answer.braces:
            ours, theirs = self._distinct(ours), self._distinct(theirs)
        return self._matched(ours, theirs)

    def _named_tuple(self, named: Collection, group: Group) -> bool:
        """`x=1, y=2` against `(1,2)`: every item named, the names in alphabetical order, the brackets round."""
        names = [item.name or "" for item in named.items if isinstance(item, Assigned) and len(item.values) == 1]
        if len(names) != len(named.items) or len(set(names)) != len(names) or group.opening + group.closing != "()":
            return False
        if len(names) != len(group.items) or any(len(name) != 1 for name in names):
            return False
        values = [item.values[0] for item in sorted(named.items, key=_name_of) if isinstance(item, Assigned)]
        return all(map(self.same, values, group.items))

    def _distinct(self, items: tuple[Shape, ...]) -> tuple[Shape, ...]:
        kept: list[Shape] = []
        for item in items:
            if not any(self.same(item, other) for other in kept):
                kept.append(item)
        return tuple(kept)

    def _matched(self, ours: tuple[Shape, ...], theirs: tuple[Shape, ...]) -> bool:
        if len(ours) != len(theirs):
            return False
        left = list(theirs)
        for item in ours:
            partner = next((k for k, other in enumerate(left) if self.same(item, other)), None)
            if partner is None:
                return False
            del left[partner]
        return True

    def _regions(self, gold: Shape, answer: Shape) -> bool:
        """The same points of the real line: all end points, and the gaps between them, are in both or in neither."""
        ours, theirs = as_region(gold), as_region(answer)
        if ours is None or theirs is None:
            return False
        if ours.variable and theirs.variable and ours.variable != theirs.variable:
            return False
        if (isinstance(gold, Collection) or isinstance(answer, Collection)) and not (ours.inside and theirs.inside):
            return False
        intervals = [*ours.inside, *ours.outside, *theirs.inside, *theirs.outside]
        if len(intervals) > MAX_ITEMS:
            raise TooBig("too many intervals")
        ends: list[Node] = []
        for interval in intervals:
            for end in (interval.low, interval.high):
                if not is_infinite(end) and not any(self._decider.equal(end, other) for other in ends):
                    ends.append(end)
        if any(free_symbols(end) for end in ends):
            return self._same_intervals(ours, theirs)
        ends.sort(key=self._decider.position)
        if any(self._is_empty(interval, ends) for interval in intervals):
            return False  # `(9, 1]` is no interval, and must not be the same as every other such pair
        return self._cells(ours, ends) == self._cells(theirs, ends)

    def _cells(self, region: Region, ends: list[Node]) -> set[int]:
        """Cells in the region: cell 2k+1 is the end point k, cells 2k and 2k+2 are the gaps beside it."""
        return self._covered(region.inside, ends) - self._covered(region.outside, ends)

    def _is_empty(self, interval: Interval, ends: list[Node]) -> bool:
        low, high = self._cell(interval.low, ends), self._cell(interval.high, ends)
        return low > high or (low == high and not (interval.low_closed and interval.high_closed))

    def _covered(self, intervals: tuple[Interval, ...], ends: list[Node]) -> set[int]:
        cells: set[int] = set()
        for interval in intervals:
            low, high = self._cell(interval.low, ends), self._cell(interval.high, ends)
            cells.update(range(low + (not interval.low_closed), high + interval.high_closed))
        return cells

    def _cell(self, end: Node, ends: list[Node]) -> int:
        if sign := is_infinite(end):
            return 2 * len(ends) + 1 if sign > 0 else -1
        return 2 * next(k for k, other in enumerate(ends) if self._decider.equal(end, other)) + 1

    def _same_intervals(self, gold: Region, answer: Region) -> bool:
        """Intervals with letters in their ends: compared one by one, in any order."""
        if len(gold.inside) != len(answer.inside) or gold.outside or answer.outside:
            return False
        left = list(answer.inside)
        for ours in gold.inside:
            for k, theirs in enumerate(left):
                same_kind = (ours.low_closed, ours.high_closed) == (theirs.low_closed, theirs.high_closed)
                if (
                    same_kind
                    and self._decider.equal(ours.low, theirs.low)
                    and self._decider.equal(ours.high, theirs.high)
                ):
                    del left[k]
                    break
            else:
                return False
        return True


def _words(gold: Shape, answer: Shape) -> bool:
    """Words against words, or an option's letter against that letter with its text."""
    if isinstance(gold, Words) and isinstance(answer, Words):
        if gold.words == answer.words:
            return True
        longer, shorter = sorted((gold.words, answer.words), key=len, reverse=True)
        return len(shorter) == 1 and _is_option(shorter[0]) and _is_that_option(shorter[0], longer)
    letter, words = (gold, answer) if isinstance(answer, Words) else (answer, gold)
    if not isinstance(letter, Quantity) or not isinstance(letter.value, Sym) or not isinstance(words, Words):
        return False
    return _is_option(letter.value.name) and _is_that_option(letter.value.name, words.words)


def _is_option(word: str) -> bool:
    return len(word) == 1 and "A" <= word <= "Z"


def _is_that_option(letter: str, words: tuple[str, ...]) -> bool:
    """Whether these are the letter and its option's text, and not a second letter or a way out."""
    text = [word.strip("().,:;") for word in words[1:]]
    if words[0] != letter or any(_is_option(word) for word in text):
        return False
    return not text or (text[0].lower() not in _HEDGES and (words[1][0].isalnum() or words[1][0] in "\\$(-"))


def _name_of(item: Shape) -> str:
    return item.name or "" if isinstance(item, Assigned) else ""


def _names(items: tuple[Shape, ...]) -> set[str | None]:
    return {item.name if isinstance(item, Assigned) else None for item in items}


def _same_name(ours: str, theirs: str) -> bool:
    """The same name, or `y` for a function `f(x)`."""
    return ours == theirs or (ours.endswith(")") and theirs == "y") or (theirs.endswith(")") and ours == "y")


def _without_one_name(
    ours: tuple[Shape, ...], theirs: tuple[Shape, ...]
) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Drop the name where one side gives it to every item and the other has none: `x=1, x=2` against `1, 2`."""

    def stems(items: tuple[Shape, ...]) -> set[str]:
        return {_INDEX.sub("", _name_of(item)) for item in items}

    def values(items: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(
            item.values[-1] if isinstance(item, Assigned) and len(item.values) == 1 else item for item in items
        )

    if _names(ours) == {None} and len(stems(theirs)) == 1:
        return ours, values(theirs)
    if _names(theirs) == {None} and len(stems(ours)) == 1:
        return values(ours), theirs
    return ours, theirs


def _as_relation(shape: Shape, *, keep_names: bool) -> Relation | None:
    if isinstance(shape, Relation):
        return shape
    if isinstance(shape, Assigned) and shape.name and len(shape.values) == 1:
        value = shape.values[0]
        if isinstance(value, Quantity) and value.unit is None:
            name = "y" if shape.name.endswith(")") and not keep_names else shape.name
            return Relation(Sym(name), "=", value.value)
    return None


def _as_inequality(shape: Shape) -> Relation | None:
    """An inequality, also where it was read as a ray."""
    if isinstance(shape, Relation):
        return shape
    if not isinstance(shape, Region) or shape.variable is None or shape.outside or len(shape.inside) != 1:
        return None
    ray, variable = shape.inside[0], Sym(shape.variable)
    ends = is_infinite(ray.low), is_infinite(ray.high)
    if (ends[0] and ray.low_closed) or (ends[1] and ray.high_closed):
        return None
    if ends == (-1, 0):
        return Relation(variable, "<=" if ray.high_closed else "<", ray.high)
    if ends == (0, 1):
        return Relation(ray.low, "<=" if ray.low_closed else "<", variable)
    return None


def _scaled(node: Node, factor: Fraction) -> Node:
    if factor == 1:
        return node
    if isinstance(node, Num) and node.places is None:
        return Num(node.value * factor)
    return Op("mul", (node, Num(factor)))


def _radians(quantity: Quantity) -> Node:
    if quantity.unit is not None and quantity.unit.dimensions == DEGREE:
        return Op("mul", (quantity.value, Op("div", (Sym(r"\pi"), integer(180)))))
    return quantity.value


def _digits_of(shape: Quantity) -> str | None:
    value = shape.value
    if isinstance(value, Num) and value.places is None and value.value.denominator == 1:
        return str(value.value.numerator)
    return None
