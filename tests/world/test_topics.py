"""Topics: all passages that are relevant and no others, and queries that find them."""

import pytest

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.retrieval import shared
from toolenvs.rewards.retrieval import ndcg, recall
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.topics import MAX_RELEVANT, Topics, year_of

WORLD = World(1_000)
KEYS = list(WORLD.keys())
TOPICS = [Topics(WORLD).draw(Draws("test", number)) for number in range(300)]


def test_relevant_is_what_states_the_fact_and_nothing_else() -> None:
    for topic in TOPICS:
        entities = [WORLD.entity(key) for key in KEYS if key.kind == topic.kind]
        stating = [e for e in entities if WORLD.name(e.links[topic.fact]) in topic.targets]
        assert {entity.key.id for entity in stating} == set(topic.relevant)
        assert 1 <= len(topic.relevant) <= MAX_RELEVANT
        assert topic.year == max((year for e in stating if (year := year_of(e)) is not None), default=None)
        assert all(any(name in entity.name for entity in stating) for name in topic.names)


def test_every_target_is_named_in_both_forms() -> None:
    for topic in TOPICS:
        assert all(target in topic.question and target in topic.pico for target in topic.targets)
        assert [line[:3] for line in topic.pico.splitlines()] == ["P: ", "I: ", "C: ", "O: "]


@pytest.mark.parametrize("seed", [0, 5])
def test_the_boolean_query_finds_all_and_the_names_find_them_first(seed: int) -> None:
    boolean = tasks.load("topics", split="test", size=150, world=seed, syntax="boolean", form="pico")
    words = tasks.load("topics", split="test", size=150, world=seed)
    index = f"world:1000:{seed}"
    for task in boolean:
        hits = shared.retriever(index, "boolean").search([task.gold], k=30)[0]
        assert recall([hit.id for hit in hits], task.extra["relevant"]) == 1
    gains = []
    for task in words:
        hits = shared.retriever(index, None).search([task.gold], k=10)[0]
        gains.append(ndcg([hit.id for hit in hits], task.extra["relevant"], k=10))
    assert sum(gain == 1 for gain in gains) >= 0.99 * len(gains)


def test_dates_are_no_earlier_than_what_is_relevant() -> None:
    dated = 0
    for task in tasks.load("topics", size=200):
        years = [year_of(WORLD.find(key)) for key in task.extra["relevant"]]
        assert ("pub_date" in task.extra) == (None not in years)
        if "pub_date" in task.extra:
            dated += 1
            assert max(year for year in years if year is not None) <= int(task.extra["pub_date"])
    assert dated > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "essay"}, "form is 'essay'; give 'question' or 'pico'"),
        ({"syntax": "sql"}, "syntax is 'sql'; give 'boolean' or 'words'"),
        ({"passages": 99}, "passages is 99; give 100 to 100000"),
        ({"passages": 1_000_000}, "passages is 1000000; give 100 to 100000"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        tasks.load("topics", **options)
