"""What there is in the world, and which facts hold of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["country", "place", "person", "company", "work", "event"]
KINDS: tuple[Kind, ...] = ("country", "place", "person", "company", "work", "event")

SHARES: Mapping[Kind, float] = {
    "country": 0.01, "place": 0.20, "person": 0.35, "company": 0.14, "work": 0.20, "event": 0.10,
}  # fmt: skip
"""How the entities of a world divide into kinds."""

RELATIONS: Mapping[Kind, Mapping[str, Kind]] = {
    "country": {"capital": "place", "leader": "person"},
    "place": {"country": "country", "mayor": "person"},
    "person": {"birthplace": "place", "teacher": "person", "employer": "company"},
    "company": {"founder": "person", "headquarters": "place"},
    "work": {"creator": "person", "setting": "place"},
    "event": {"venue": "place", "winner": "person"},
}
"""Facts whose value is another entity, by kind: the fact's name and the kind that it leads to."""

FIGURES: Mapping[Kind, tuple[str, ...]] = {
    "country": ("area",),
    "place": ("population", "elevation"),
    "person": ("birth_year",),
    "company": ("founding_year", "staff"),
    "work": ("year",),
    "event": ("year", "visitors"),
}
"""Facts whose value is a number."""

WORDS: Mapping[Kind, Mapping[str, tuple[str, ...]]] = {
    "country": {"export": ("amber", "copper", "glass", "linen", "salt", "tea", "timber", "wool")},
    "place": {"known_for": ("bridges", "clocks", "gardens", "kilns", "markets", "mills", "orchards", "towers")},
    "person": {
        "profession": ("architect", "botanist", "cartographer", "composer", "engineer", "historian", "painter", "poet")
    },
    "company": {"trade": ("bells", "bicycles", "instruments", "lamps", "lenses", "paper", "pumps", "ships")},
    "work": {"form": ("ballad", "chronicle", "comedy", "novel", "opera", "play", "symphony", "tragedy")},
    "event": {"sport": ("archery", "chess", "falconry", "fencing", "rowing", "sailing", "skating", "wrestling")},
}
"""Facts whose value is one of a few words. They stand in passages and are never asked for: they could be guessed."""


@dataclass(frozen=True, slots=True)
class Key:
    """One entity: its kind and its number."""

    kind: Kind
    number: int

    @property
    def id(self) -> str:
        """Id of its passage, such as "person-17"."""
        return f"{self.kind}-{self.number}"


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with all that is true of it."""

    key: Key
    name: str
    links: Mapping[str, Key]
    """Facts that lead to another entity."""
    figures: Mapping[str, int]
    words: Mapping[str, str]
