"""`World`: entities, passages and questions from a seed and a size."""

import re
from collections.abc import Iterator
from functools import lru_cache

from toolenvs.errors import TaskError
from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import FIGURES, KINDS, RELATIONS, SHARES, WORDS, Entity, Key, Kind
from toolenvs.world.names import capacity, name
from toolenvs.world.passages import Passage, passage
from toolenvs.world.questions import Question, unanswerable, walk

MIN_PASSAGES, MAX_PASSAGES = 100, 1_000_000
_ID = re.compile(r"(\w+)-(0|[1-9]\d*)")
_GIVEN = capacity("given")
RANGES = {
    "area": (2_000, 900_000),
    "population": (1_000, 4_000_000),
    "elevation": (3, 2_900),
    "staff": (20, 90_000),
    "visitors": (500, 250_000),
}
BIRTH_YEARS = (1500, 1980)


class World:
    """A fictional world.

    Args:
        passages: how many passages it has, one an entity; from 100 to 1,000,000.
        seed: another seed gives another world.

    Raises:
        TaskError: `passages` is out of range.
    """

    def __init__(self, passages: int = 1_000, *, seed: int = 0) -> None:
        if isinstance(passages, bool) or not MIN_PASSAGES <= passages <= MAX_PASSAGES:
            raise TaskError(f"a world has {MIN_PASSAGES} to {MAX_PASSAGES} passages, not {passages!r}")
        self.seed = seed
        self.counts: dict[Kind, int] = {kind: max(int(passages * SHARES[kind]), 1) for kind in KINDS}
        self.counts["person"] += passages - sum(self.counts.values())
        self.entity = lru_cache(maxsize=65_536)(self._entity)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (len(self), self.seed)

    def keys(self) -> Iterator[Key]:
        """Every entity, kind after kind."""
        return (Key(kind, number) for kind in KINDS for number in range(self.counts[kind]))

    def find(self, passage_id: str) -> Entity:
        """The entity that a passage is about.

        Raises:
            TaskError: there is no such passage.
        """
        read = _ID.fullmatch(passage_id)
        for kind in KINDS:
            if read and read[1] == kind and len(read[2]) < 8 and int(read[2]) < self.counts[kind]:
                return self.entity(Key(kind, int(read[2])))
        raise TaskError(f"this world has no passage {passage_id!r}; ids are such as 'person-0'")

    def passages(self) -> Iterator[Passage]:
        """Every passage, in the order of `keys`."""
        return (passage(self, self._entity(key)) for key in self.keys())

    def question(self, draws: Draws, *, hops: int = 2) -> Question:
        """A question whose answer takes `hops` facts, each of another entity.

        Args:
            draws: what it depends on.
            hops: 1 to 4.
        """
        return walk(self, draws, hops)

    def unanswerable(self, draws: Draws, *, hops: int = 2) -> Question:
        """A question about an entity that this world does not have."""
        return unanswerable(self, draws, hops)

    def name(self, key: Key) -> str:
        """What an entity is called; numbers beyond the world's own name what it does not have."""
        kind, number = key.kind, key.number
        if kind == "person":
            given = Draws("world", self.seed, "given", number).below(_GIVEN)
            return f"{name('given', given, self.seed)} {name('surname', number, self.seed)}"
        if kind == "work":
            draws = Draws("world", self.seed, "title", number)
            epithet = draws.choice(("Silent", "Burning", "Hollow", "Last", "Painted", "Winter", "Drowned", "Second"))
            noun = draws.choice(("Harbour", "Garden", "Lantern", "Orchard", "Mirror", "Staircase", "River", "Crown"))
            return f"The {epithet} {noun} of {name('work', number, self.seed)}"
        if kind == "company":
            house = Draws("world", self.seed, "house", number).choice(
                ("Brothers", "Works", "Guild", "House", "Company")
            )
            return f"{name('company', number, self.seed)} {house}"
        if kind == "event":
            form = Draws("world", self.seed, "form", number).choice(("Cup", "Games", "Trophy", "Tournament", "Open"))
            return f"{name('event', number, self.seed)} {form}"
        return name(kind, number, self.seed)

    def _entity(self, key: Key) -> Entity:
        kind, number = key.kind, key.number
        draws = Draws("world", self.seed, kind, number)
        links = {fact: Key(target, draws.below(self.counts[target])) for fact, target in RELATIONS[kind].items()}
        if kind == "place":
            links["country"] = Key("country", number % self.counts["country"])
        elif kind == "country":
            links["capital"] = Key("place", number)  # the first places are the capitals, each in its own country
        elif kind == "person" and links["teacher"].number == number:
            links["teacher"] = Key("person", (number + 1) % self.counts["person"])
        figures = {fact: self._figure(key, fact, links, draws) for fact in FIGURES[kind]}
        words = {fact: draws.choice(options) for fact, options in WORDS[kind].items()}
        return Entity(key, self.name(key), links, figures, words)

    def _figure(self, key: Key, fact: str, links: dict[str, Key], draws: Draws) -> int:
        if fact == "birth_year":
            return self._birth_year(key.number)
        if fact == "founding_year":
            return self._birth_year(links["founder"].number) + draws.between(20, 55)
        if fact == "year" and key.kind == "work":
            return self._birth_year(links["creator"].number) + draws.between(18, 60)
        if fact == "year":
            return self._birth_year(links["winner"].number) + draws.between(17, 40)
        low, high = RANGES[fact]
        return draws.between(low, high)

    def _birth_year(self, number: int) -> int:
        return Draws("world", self.seed, "birth", number).between(*BIRTH_YEARS)


def _again(passages: int, seed: int) -> World:
    return World(passages, seed=seed)
