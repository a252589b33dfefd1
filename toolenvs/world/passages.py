"""Passages: all facts of one entity in sentences, each in one of a few wordings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import Entity

if TYPE_CHECKING:
    from toolenvs.world.world import World

_SENTENCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "country": (
        ("{name} is a country whose capital is {capital}.", "{capital} is the capital of the country {name}."),
        ("It is led by {leader}.", "Its leader is {leader}."),
        ("{name} covers {area} square kilometres and exports {export}.", "Its area is {area} square kilometres, and its"
         " main export is {export}."),
    ),
    "place": (
        ("{name} is a town in {country}, known for its {known_for}.", "The town of {name}, known for its {known_for},"
         " lies in {country}."),
        ("Its mayor is {mayor}.", "{mayor} is the mayor of {name}."),
        ("{name} has a population of {population} and lies {elevation} metres above the sea.", "With {population}"
         " inhabitants, it stands at an elevation of {elevation} metres."),
    ),
    "person": (
        ("{name} is a {profession} who was born in {birthplace} in {birth_year}.", "Born in {birthplace} in"
         " {birth_year}, {name} became a {profession}."),
        ("{name} was taught by {teacher}.", "The teacher of {name} was {teacher}."),
        ("{name} worked for {employer}.", "For most of a long career {name} was employed by {employer}."),
    ),
    "company": (
        ("{name} is a maker of {trade}, founded by {founder} in {founding_year}.", "In {founding_year}, {founder}"
         " founded {name}, which makes {trade}."),
        ("Its headquarters are in {headquarters}.", "{name} has its headquarters in {headquarters}."),
        ("The company has a staff of {staff}.", "{staff} people work there."),
    ),
    "work": (
        ("{name} is a {form} by {creator}, first shown in {year}.", "{creator} wrote the {form} {name}, which"
         " appeared in {year}."),
        ("It is set in {setting}.", "Its story takes place in {setting}."),
    ),
    "event": (
        ("The {name} is a contest in {sport} that was held in {venue} in {year}.", "In {year} the {name}, a contest in"
         " {sport}, took place in {venue}."),
        ("It was won by {winner}.", "The winner was {winner}."),
        ("{visitors} people came to watch.", "It drew {visitors} visitors."),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the corpus."""

    id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text as Search-R1's corpus rows hold them: the quoted title, a newline, the text."""
        return f'"{self.title}"\n{self.text}'


def wording(world: "World", entity: Entity) -> str:
    """The sentences about an entity, with the names of facts in braces where their values stand."""
    draws = Draws("world", world.seed, "wording", entity.key.id)
    return " ".join(draws.choice(wordings) for wordings in _SENTENCES[entity.key.kind])


def passage(world: "World", entity: Entity) -> Passage:
    """What the corpus says of an entity."""
    values = {
        "name": entity.name,
        **{fact: world.name(key) for fact, key in entity.links.items()},
        **{fact: str(value) for fact, value in entity.figures.items()},
        **entity.words,
    }
    return Passage(entity.key.id, entity.name, wording(world, entity).format_map(values))
