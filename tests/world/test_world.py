"""The fictional world: the same everywhere, consistent with itself, and unknown to everyone."""

import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.tasks.seeding import Draws
from toolenvs.world import UNKNOWN, World
from toolenvs.world.names import capacity, name

WORLD = World(1_000)
PASSAGES = {passage.id: passage for passage in WORLD.passages()}


def test_a_world_has_the_passages_that_were_asked_for() -> None:
    assert len(WORLD) == len(PASSAGES) == 1_000
    assert len({passage.title for passage in PASSAGES.values()}) == 1_000
    assert {kind: count > 0 for kind, count in WORLD.counts.items()} == dict.fromkeys(WORLD.counts, True)
    for size in (99, 1_000_001, True):
        with pytest.raises(TaskError, match="a world has 100 to"):
            World(size)


def test_it_is_the_same_in_every_process() -> None:
    code = (
        "from toolenvs.world import World; from toolenvs.tasks.seeding import Draws; w = World(1000)\n"
        "print(next(iter(w.passages())).contents, w.question(Draws('t', 1), hops=3))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    again = pickle.loads(pickle.dumps(WORLD))
    assert said == {f"{next(again.passages()).contents} {WORLD.question(Draws('t', 1), hops=3)}\n"}
    assert next(World(1_000, seed=1).passages()).title != next(WORLD.passages()).title


@pytest.mark.parametrize("style", ["surname", "given", "place", "country", "company", "work", "event"])
def test_names_are_dealt_out_once(style: str) -> None:
    size = min(capacity(style), 20_000)
    assert len({name(style, number, 5) for number in range(size)}) == size
    with pytest.raises(ValueError, match="there is none of number"):
        name(style, capacity(style), 5)


def test_there_are_names_for_the_largest_world_and_for_as_many_strangers() -> None:
    for kind, count in World(1_000_000).counts.items():
        assert capacity("surname" if kind == "person" else kind) > 1.2 * count


@given(number=st.integers(0, 10**9), hops=st.integers(1, 4))
def test_a_question_is_answered_by_its_evidence_and_by_nothing_less(number: int, hops: int) -> None:
    question = WORLD.question(Draws("property", number), hops=hops)
    assert len(question.evidence) == len(set(question.evidence)) == len(question.facts) == hops
    assert PASSAGES[question.evidence[0]].title in question.text
    for here, there in zip(question.evidence, question.evidence[1:], strict=False):
        assert PASSAGES[there].title in PASSAGES[here].text
        assert PASSAGES[there].title not in question.text
    last = PASSAGES[question.evidence[-1]]
    assert re.search(rf"\b{re.escape(question.answer)}\b", last.text)
    assert question.answer not in question.text


@given(number=st.integers(0, 10**9), hops=st.integers(1, 4))
def test_an_unanswerable_question_names_a_stranger(number: int, hops: int) -> None:
    question = WORLD.unanswerable(Draws("property", number), hops=hops)
    assert question.answer == UNKNOWN
    assert not any(passage.title in question.text for passage in PASSAGES.values())


def test_facts_agree_with_one_another() -> None:
    for key in list(WORLD.keys()):
        entity = WORLD.entity(key)
        if key.kind == "country":
            assert WORLD.entity(entity.links["capital"]).links["country"] == key
        if key.kind == "company":
            founder = WORLD.entity(entity.links["founder"])
            assert 20 <= entity.figures["founding_year"] - founder.figures["birth_year"] <= 55
    assert WORLD.find("person-3").key.id == "person-3"
    for wrong in ("person-9999", "planet-1", "person", "person-01", ""):
        with pytest.raises(TaskError, match="no passage"):
            WORLD.find(wrong)


def test_nobody_can_guess() -> None:
    """The commonest answer of a thousand two-hop questions is right for few of them."""
    answers = [WORLD.question(Draws("guess", number), hops=2).answer for number in range(1_000)]
    assert max(map(answers.count, set(answers))) <= 20


def test_the_task_set() -> None:
    made = tasks.load("world", split="test", size=200, passages=1_000, max_hops=4, unanswerable=0.2)
    drawn = list(made)
    assert {task.extra["hops"] for task in drawn} == {1, 2, 3, 4}
    strangers = [task for task in drawn if task.golds == (UNKNOWN,)]
    assert 20 <= len(strangers) <= 60
    assert all(task.extra["evidence"] for task in drawn if task not in strangers)
    assert pickle.loads(pickle.dumps(made))[7] == made[7]
    for options in ({"max_hops": 5}, {"min_hops": 3}, {"unanswerable": 1.5}, {"passages": 5}):
        with pytest.raises(TaskError):
            tasks.load("world", **options)
