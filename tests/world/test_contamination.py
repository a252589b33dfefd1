"""Names that stand in no text of this machine, and guessers that do no better than chance."""

import re
import sysconfig
from math import sqrt
from pathlib import Path

import pytest

from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.chance import Constant, Nearest, Template, chance, guess
from toolenvs.world.questions import Question

WORLD = World(1_000)
ASKED = [WORLD.question(Draws("asked", place), hops=1 + place % 4) for place in range(12_000)]


def within(hits: int, expected: float) -> bool:
    """Whether a count with that mean lies within four and a half standard deviations of it."""
    return abs(hits - expected) <= 4.5 * sqrt(expected) + 1


def test_no_name_that_tells_an_entity_stands_in_the_standard_librarys_text() -> None:
    """Given names do, and "Zero" is one; benchmarks/contamination.py looks in 3.8 million words of forty languages."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = [*folder.glob("*.py"), *folder.glob("pydoc_data/*.py"), *folder.glob("encodings/*.py")]
    said = {word.lower() for file in files for word in re.findall(r"[A-Za-z]+", file.read_text("utf-8", "replace"))}
    assert len(said) > 10_000
    assert {"zero", "the"} <= said
    coined = set()
    for key in list(WORLD.keys()):
        parts = WORLD.name(key).lower().split()
        coined.add(parts[1] if key.kind == "person" else parts[-1] if key.kind == "work" else parts[0])
    assert len(coined) == 1_000
    assert coined & said == set()


def test_a_stranger_who_knows_names_and_ranges_is_right_by_the_computed_chance() -> None:
    expected = sum(chance(WORLD, question) for question in ASKED)
    right = sum(
        guess(WORLD, question, Draws("guess", place)) == question.answer for place, question in enumerate(ASKED)
    )
    assert 0.002 < expected / len(ASKED) < 0.004
    assert right > 5
    assert within(right, expected)


@pytest.mark.parametrize("guesser", [Constant, Template, Nearest])
def test_questions_of_other_worlds_teach_nothing(guesser: type[Constant] | type[Template] | type[Nearest]) -> None:
    elsewhere = [
        World(1_000, seed=1 + place % 5).question(Draws("elsewhere", place), hops=1 + place % 4) for place in range(800)
    ]
    asked = ASKED[:1_200]
    learnt = guesser(elsewhere)
    right = sum(learnt.guess(question) == question.answer for question in asked)
    expected = sum(chance(WORLD, question) for question in asked)
    assert right <= expected + 4.5 * sqrt(expected) + 1


def test_guessers_learn_what_there_is_to_learn() -> None:
    """Where the answer does depend on the question, they find it: that they fail above is the world's doing."""
    said = {"Who is the mayor of Ab?": "A", "Who is the mayor of Cd?": "B", "In which year was Ab held?": "1900"}
    seen = [_question(text, answer) for text, answer in said.items() for _ in range(2)]
    assert {text: Nearest(seen).guess(_question(text, "?")) for text in said} == said
    assert (
        Template([*seen, _question("Who is the mayor of Ef?", "B")]).guess(_question("Who is the mayor of Gh?", "?"))
        == "B"
    )
    assert Template(seen).guess(_question("In which year was Xy held?", "?")) == "1900"
    assert Constant([*seen, seen[0]]).guess(seen[5]) == "A"
    assert Nearest(seen).guess(_question("?", "?")) == ""


def _question(text: str, answer: str) -> Question:
    return Question(text=text, answer=answer, hops=1, evidence=("x-1",), facts=("f",), names=())


@pytest.mark.parametrize(
    ("facts", "evidence", "expected"),
    [
        (("mayor",), ("place-3",), 1 / 350),
        (("teacher",), ("person-3",), 1 / 349),
        (("teacher", "teacher"), ("person-3", "person-4"), 1 / 348),
        (("headquarters",), ("company-1",), 1 / 200),
        (("employer", "staff"), ("person-3", "company-1"), 1 / 89_981),
        (("year",), ("event-3",), 1 / 481),
        (("founding_year",), ("company-3",), 1 / 481),
        (("elevation",), ("place-3",), 1 / 2_898),
    ],
)
def test_chance_of_a_fact(facts: tuple[str, ...], evidence: tuple[str, ...], expected: float) -> None:
    question = Question(text="", answer="", hops=len(facts), evidence=evidence, facts=facts, names=())
    assert chance(WORLD, question) == pytest.approx(expected)


def test_years_are_no_likelier_than_the_computed_chance() -> None:
    """Of foundings, works and events, whose years are sums of two draws: no year stands out."""
    world = World(20_000)
    for kind, fact in (("company", "founding_year"), ("work", "year"), ("event", "year")):
        years = [world.entity(key).figures[fact] for key in list(world.keys()) if key.kind == kind]
        most = max(years.count(year) for year in set(years))
        expected = len(years) / 481
        assert most <= expected + 5 * sqrt(expected) + 1
