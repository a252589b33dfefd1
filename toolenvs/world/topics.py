"""Topics: what a passage must say to be relevant, and all passages of a world that say it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast, get_args

from toolenvs.errors import TaskError
from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import Entity, Key, Kind

if TYPE_CHECKING:
    from toolenvs.world.world import World

Syntax = Literal["boolean", "words"]
MAX_RELEVANT = 20
"""Most passages that a topic may have."""


@dataclass(frozen=True, slots=True)
class _Relation:
    """How one fact is asked for."""

    subjects: str
    """What has the fact, in the plural."""
    phrase: str
    """Behind the subjects; `{x}` is whom or what the fact leads to."""
    words: tuple[str, ...]
    """One of these stands in every passage that states the fact, however it is worded."""
    outcome: str
    """What a study of the subjects could want to know."""


_RELATIONS: Mapping[tuple[Kind, str], _Relation] = {
    ("place", "country"): _Relation("towns", "that lie in {x}", ("town",), "number of inhabitants"),
    ("person", "birthplace"): _Relation("people", "who were born in {x}", ("born",), "year of birth"),
    ("person", "teacher"): _Relation("people", "whose teacher was {x}", ("taught", "teacher"), "profession"),
    ("person", "employer"): _Relation("people", "who were employed by {x}", ("worked", "employed"), "profession"),
    ("company", "founder"): _Relation("companies", "that were founded by {x}", ("founded",), "size of the staff"),
    ("company", "headquarters"): _Relation(
        "companies", "that have their headquarters in {x}", ("headquarters",), "year of foundation"
    ),
    ("work", "creator"): _Relation("works", "that were written by {x}", ("shown", "appeared"), "year of appearance"),
    ("work", "setting"): _Relation("works", "that are set in {x}", ("set", "story"), "year of appearance"),
    ("event", "venue"): _Relation("contests", "that were held in {x}", ("contest",), "number of visitors"),
    ("event", "winner"): _Relation("contests", "that were won by {x}", ("won", "winner"), "number of visitors"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What is looked for, and where it stands."""

    kind: Kind
    """Of the entities that the relevant passages are about."""
    fact: str
    targets: tuple[str, ...]
    """Names of what the fact leads to: any of them will do."""
    relevant: tuple[str, ...]
    """Ids of all passages that state the fact about a target."""
    names: tuple[str, ...]
    """The invented word in the title of each of those passages, in the same order."""
    year: int | None
    """The latest year of the relevant passages; None where they have none."""

    @property
    def question(self) -> str:
        """The topic in one sentence."""
        relation = _RELATIONS[self.kind, self.fact]
        return f"Find {relation.subjects} {relation.phrase.format(x=' or '.join(self.targets))}."

    @property
    def pico(self) -> str:
        """The topic as the outline of a review: population, intervention, comparison, outcome."""
        relation = _RELATIONS[self.kind, self.fact]
        first, *others = (f"{relation.subjects} {relation.phrase.format(x=target)}" for target in self.targets)
        lines = [relation.subjects, first, "; ".join(others) or "none", relation.outcome]
        return "\n".join(f"{letter}: {line}" for letter, line in zip("PICO", lines, strict=True))

    def query(self, syntax: Syntax) -> str:
        """A query that finds every relevant passage.

        Args:
            syntax: "boolean", an expression; "words", the names of what is looked for, which nobody else knows.
        """
        if syntax == "words":
            return " ".join(self.names)
        names = " OR ".join(f'"{target}"' for target in self.targets)
        return f"({names}) AND ({' OR '.join(_RELATIONS[self.kind, self.fact].words)})"


class Topics:
    """The topics of a world. What leads to what is gathered once for each fact, when it is first needed.

    Args:
        world: the world.
    """

    def __init__(self, world: "World") -> None:
        self._world = world
        self._holders = lru_cache(maxsize=None)(self._gathered)

    def draw(self, draws: Draws) -> Topic:
        """A topic of one target or two, and of 1 to `MAX_RELEVANT` relevant passages."""
        world = self._world
        while True:  # too many passages: drawn again
            kind, fact = draws.choice(list(_RELATIONS))
            targets = [self._target(draws, kind, fact) for _ in range(draws.between(1, 2))]
            keys = list(dict.fromkeys(key for target in targets for key in self._holders(kind, fact)[target]))
            if len(keys) <= MAX_RELEVANT:
                break
        entities = [world.entity(key) for key in keys]
        years = [year for entity in entities if (year := year_of(entity)) is not None]
        return Topic(
            kind=kind,
            fact=fact,
            targets=tuple(map(world.name, dict.fromkeys(targets))),
            relevant=tuple(key.id for key in keys),
            names=tuple(entity.name.split()[0 if kind in ("company", "event") else -1] for entity in entities),
            year=max(years, default=None),
        )

    def _target(self, draws: Draws, kind: Kind, fact: str) -> Key:
        """What the fact of an entity leads to, so that at least one passage is relevant."""
        return self._world.entity(Key(kind, draws.below(self._world.counts[kind]))).links[fact]

    def _gathered(self, kind: Kind, fact: str) -> Mapping[Key, Sequence[Key]]:
        """By target, the entities whose fact leads to it."""
        holders: dict[Key, list[Key]] = {}
        for number in range(self._world.counts[kind]):
            key = Key(kind, number)
            holders.setdefault(self._world.entity(key).links[fact], []).append(key)
        return holders


def year_of(entity: Entity) -> int | None:
    """The year that an entity's passage is dated by: of its birth, foundation, appearance or contest; None for none."""
    return next(
        (entity.figures[name] for name in ("year", "founding_year", "birth_year") if name in entity.figures), None
    )


def check_syntax(value: str) -> Syntax:
    """`value`, where it is a syntax.

    Raises:
        TaskError: it is none.
    """
    if value not in get_args(Syntax):
        raise TaskError(f"topics: syntax is {value!r}; give {' or '.join(map(repr, get_args(Syntax)))}")
    return cast(Syntax, value)
