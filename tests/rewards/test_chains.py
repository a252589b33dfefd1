"""The reader that follows chains: from name to name, and no further than the question asks."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import loop
from toolenvs.rewards.chains import Chains
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World

TEXT = """\
Doc 1(Title: Anna Vries) Anna Vries is a poet who was born in Oldport in 1911. The teacher of Anna Vries was Carl Hem.
Doc 2(Title: Oldport) Oldport is a town in Norland. Its mayor is Bob Day. Its population is 5300.
Doc 3(Title: Carl Hem) Born in Westing in 1870, Carl Hem became a painter. Carl Hem was taught by Dora Lund.
Doc 4(Title: Newport) Newport is a town in Norland. Its mayor is Eve Night."""


def read(question: str, text: str) -> str:
    return loop.run(Chains().read(question, text))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is the teacher of Anna Vries?", "Carl Hem"),
        ("Who is the teacher of the teacher of Anna Vries?", "Dora Lund"),
        ("Who is the mayor of the town where Anna Vries was born?", "Bob Day"),
        ("What is the town where the teacher of Anna Vries was born?", "Westing"),
        ("In which year was the teacher of Anna Vries born?", "1870"),
        ("How many inhabitants does the town have where Anna Vries was born?", "5300"),
        ("Who is the mayor of Newport?", "Eve Night"),
    ],
)
def test_chains(question: str, answer: str) -> None:
    assert read(question, TEXT) == answer


def test_a_passage_without_a_title_is_about_the_first_name_in_it() -> None:
    untitled = "\n".join(line.partition(") ")[2] for line in TEXT.splitlines())
    assert read("Who is the mayor of the town where Anna Vries was born?", untitled) == "Bob Day"
    assert read("Who is the mayor of Newport?", untitled) == "Eve Night"


@pytest.mark.parametrize("text", ["", "nothing here", "\n\n", "Doc 1(Title: ) "])
def test_nothing_to_read(text: str) -> None:
    assert read("Who is the teacher of Anna Vries?", text) == ""


def test_a_question_without_a_name_is_read_from_the_nearest_sentence() -> None:
    assert read("Who taught the painter?", "The painter was taught by Dora Lund. It rained.") == "Dora Lund"


@given(question=st.text(max_size=200), text=st.text(max_size=500))
def test_any_text_can_be_read(question: str, text: str) -> None:
    said = read(question, text)
    assert said == "" or said in text


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_the_world_with_other_passages_between(hops: int) -> None:
    world, right, beside = World(300), 0, 0
    texts = {passage.id: f"Doc 1(Title: {passage.title}) {passage.text}" for passage in world.passages()}
    keys = sorted(texts)
    questions = [world.question(Draws("chains", hops, number), hops=hops) for number in range(120)]
    questions = [question for question in questions if not question.answer.isdigit()]
    for number, question in enumerate(questions):
        draws = Draws("others", number)
        ids = draws.sample([*question.evidence, *draws.sample(keys, 8)], hops + 8)
        right += read(question.text, "\n".join(texts[key] for key in ids)) == question.answer
        without = [key for key in ids if key != question.evidence[-1]]
        beside += read(question.text, "\n".join(texts[key] for key in without)) == question.answer
    assert len(questions) > 40
    assert right >= 0.95 * len(questions)
    assert beside <= 0.05 * len(questions)


@pytest.mark.parametrize(
    "piece",
    ["Aa Bb met N and was born. ", "(Title: ", "Doc 1(Title: N) Q met Aa Bb.\n", "Aa ", "Aa of the ", "\n", ". "],
)
def test_reading_takes_time_that_grows_with_the_text_and_no_faster(piece: str) -> None:
    def cpu_s(chars: int) -> float:
        text = (piece * chars)[:chars]
        started_s = time.process_time()
        read("Who met the one who met the one that met the born Aa Bb?", text)
        return time.process_time() - started_s

    small, large = (min(cpu_s(chars) for _ in range(3)) for chars in (4_000, 32_000))
    assert large < 4 * 8 * small + 0.5
