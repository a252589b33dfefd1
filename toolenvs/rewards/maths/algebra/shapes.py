"""What sort of answer a text is. The list is closed: what fits nowhere is `Opaque`, and compared as text."""

from dataclasses import dataclass
from typing import TypeAlias

from .tree import Node
from .units import Unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or an expression, perhaps with a unit."""

    value: Node
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """Text: a name, yes or no, an option's letter with its text."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Ordered items in brackets: a tuple, a point, or an interval with finite ends."""

    opening: str
    items: "tuple[Shape, ...]"
    closing: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Unordered items: a set where it stands in braces (no multiplicity), else a list of answers."""

    items: "tuple[Shape, ...]"
    braces: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Ordered items with an ellipsis among them, which is None."""

    items: "tuple[Shape | None, ...]"
    kind: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A connected piece of the real line; a point where both ends are equal and closed."""

    low: Node
    high: Node
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Region:
    """A set of reals: the intervals of `inside` without those of `outside`."""

    inside: tuple[Interval, ...]
    outside: tuple[Interval, ...] = ()
    variable: str | None = None
    """What the region is a condition on, where it was written as one."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """`name = value`, or a chain `name = value = value`: every value has to be right."""

    name: str | None
    values: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True)
class Rounded:
    r"""`exact \approx about`: the answer is what stands first, and the other must be near it."""

    exact: "Quantity"
    about: Node


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation or an inequality between expressions."""

    left: Node
    sign: str
    """One of `=`, `<`, `<=`, `!=`."""
    right: Node


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of expressions."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """`a:b:c`."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day or a duration `h:mm`; `half` is `am`, `pm` or empty."""

    hours: int
    minutes: int
    half: str
    as_ratio: bool
    """Whether it could also be meant as a ratio."""


@dataclass(frozen=True, slots=True)
class Based:
    """Digits written in a stated base."""

    digits: str
    base: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text that fits no other shape."""

    text: str


Shape: TypeAlias = (
    Quantity
    | Words
    | Group
    | Collection
    | Sequence
    | Region
    | Assigned
    | Rounded
    | Relation
    | Matrix
    | Ratio
    | Clock
    | Based
    | Opaque
)

EMPTY_SET = Collection((), braces=True)
