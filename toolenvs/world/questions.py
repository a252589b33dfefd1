"""Questions: a walk from one entity over links to a fact at its end, put into one sentence."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolenvs.errors import TaskError
from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import FIGURES, KINDS, RELATIONS, Key, Kind
from toolenvs.world.names import capacity

if TYPE_CHECKING:
    from toolenvs.world.world import World

UNKNOWN = "unknown"
"""The gold answer of a question about something that the world does not have."""
MAX_HOPS = 4

_PHRASES: dict[tuple[Kind, str], str] = {
    ("country", "capital"): "the capital of {x}",
    ("country", "leader"): "the leader of {x}",
    ("place", "country"): "the country where {x} lies",
    ("place", "mayor"): "the mayor of {x}",
    ("person", "birthplace"): "the town where {x} was born",
    ("person", "teacher"): "the teacher of {x}",
    ("person", "employer"): "the company that employed {x}",
    ("company", "founder"): "the founder of {x}",
    ("company", "headquarters"): "the town where {x} has its headquarters",
    ("work", "creator"): "the author of {x}",
    ("work", "setting"): "the town where {x} is set",
    ("event", "venue"): "the town where the {x} was held",
    ("event", "winner"): "the winner of the {x}",
}
_ASKED: dict[tuple[Kind, str], str] = {
    ("country", "area"): "How many square kilometres does {x} cover?",
    ("place", "population"): "How many inhabitants does {x} have?",
    ("place", "elevation"): "How many metres above the sea does {x} lie?",
    ("person", "birth_year"): "In which year was {x} born?",
    ("company", "founding_year"): "In which year was {x} founded?",
    ("company", "staff"): "How many people work for {x}?",
    ("work", "year"): "In which year did {x} first appear?",
    ("event", "year"): "In which year was the {x} held?",
    ("event", "visitors"): "How many visitors did the {x} draw?",
}
_STARTS: tuple[Kind, ...] = ("place", "person", "company", "work", "event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its answer and the passages that it takes."""

    text: str
    answer: str
    hops: int
    """How many facts it takes, each of another passage."""
    evidence: tuple[str, ...]
    """Ids of the passages that hold those facts, in order; empty where there is no answer."""
    facts: tuple[str, ...]
    """Names of the facts, in order."""
    names: tuple[str, ...]
    """What the entities of the evidence are called: a search for each, in order, leads to the answer."""


def walk(world: "World", draws: Draws, hops: int) -> Question:
    """A question that takes `hops` facts; no entity is passed twice."""
    if isinstance(hops, bool) or not 1 <= hops <= MAX_HOPS:
        raise TaskError(f"a question takes 1 to {MAX_HOPS} hops, not {hops!r}")
    while True:  # a walk may return to where it was, and is drawn again
        kind = draws.choice(_STARTS)
        start = Key(kind, draws.below(world.counts[kind]))
        facts = _facts(draws, kind, hops)
        keys = [start]
        for fact in facts[:-1]:
            keys.append(world.entity(keys[-1]).links[fact])
        last = world.entity(keys[-1])
        passed_twice = len(set(keys)) < hops or last.links.get(facts[-1]) in keys
        if not passed_twice and not _is_guessable(last.key.kind, facts[-1]):
            break
    answer = str(last.figures[facts[-1]]) if facts[-1] in last.figures else world.name(last.links[facts[-1]])
    return Question(
        text=_text(world.name(start), kind, facts),
        answer=answer,
        hops=hops,
        evidence=tuple(key.id for key in keys),
        facts=tuple(facts),
        names=tuple(map(world.name, keys)),
    )


def about(world: "World", key: Key) -> list[Question]:
    """The questions that the passage of one entity answers, one for each fact; the guessable ones are among them."""
    entity = world.entity(key)
    facts = {fact: world.name(target) for fact, target in entity.links.items()} | {
        fact: str(value) for fact, value in entity.figures.items()
    }
    return [
        Question(
            text=_text(entity.name, key.kind, [fact]),
            answer=answer,
            hops=1,
            evidence=(key.id,),
            facts=(fact,),
            names=(entity.name,),
        )
        for fact, answer in facts.items()
    ]


def _is_guessable(kind: Kind, fact: str) -> bool:
    """True for an answer of which there are no more than countries."""
    return kind == "country" or RELATIONS[kind].get(fact) == "country"


def unanswerable(world: "World", draws: Draws, hops: int) -> Question:
    """A question that begins at a name which the world does not have."""
    if isinstance(hops, bool) or not 1 <= hops <= MAX_HOPS:
        raise TaskError(f"a question takes 1 to {MAX_HOPS} hops, not {hops!r}")
    kind = draws.choice(_STARTS)
    strangers = capacity("surname" if kind == "person" else kind) - world.counts[kind]
    beyond = Key(kind, world.counts[kind] + draws.below(strangers))
    facts = _facts(draws, kind, hops)
    text = _text(world.name(beyond), kind, facts)
    return Question(text=text, answer=UNKNOWN, hops=hops, evidence=(), facts=tuple(facts), names=())


def _facts(draws: Draws, kind: Kind, hops: int) -> list[str]:
    facts = []
    for _ in range(hops - 1):
        fact = draws.choice(list(RELATIONS[kind]))
        facts.append(fact)
        kind = RELATIONS[kind][fact]
    return [*facts, draws.choice([*RELATIONS[kind], *FIGURES[kind]])]


def _text(name: str, kind: Kind, facts: list[str]) -> str:
    phrase = name
    for fact in facts[:-1]:
        phrase = _PHRASES[kind, fact].format(x=phrase)
        kind = RELATIONS[kind][fact]
    if facts[-1] in FIGURES[kind]:
        return _ASKED[kind, facts[-1]].format(x=phrase)
    noun = _PHRASES[kind, facts[-1]].format(x=phrase)
    return f"{'Who' if RELATIONS[kind][facts[-1]] == 'person' else 'What'} is {noun}?"


assert set(_PHRASES) == {(kind, fact) for kind in KINDS for fact in RELATIONS[kind]}
assert set(_ASKED) == {(kind, fact) for kind in KINDS for fact in FIGURES[kind]}
