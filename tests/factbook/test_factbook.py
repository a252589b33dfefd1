"""Real text and questions about it: every answer stands in a passage that is named, and a search finds it."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import toolenvs
from toolenvs import factbook, loop, retrieval
from toolenvs.agents.scripted import Oracle
from toolenvs.errors import PageError, TaskError
from toolenvs.factbook.facts import CLUES, named
from toolenvs.retrieval import shared
from toolenvs.rollout.collect import collect
from toolenvs.tasks.checking import check
from toolenvs.tasks.generated import generate

QUESTIONS = [question for hops in (1, 2, 3) for question in factbook.questions(hops)]
PAGE = {"tools": {"search": {"index": "factbook"}}, "tasks": {"set": "factbook", "max_hops": 3}}


@pytest.fixture(scope="module")
def passages() -> dict[str, factbook.Passage]:
    made = list(factbook.passages())
    found = {passage.id: passage for passage in made}
    assert len(found) == len(made)
    return found


def test_passages_are_plain_text_of_a_readable_length(passages: dict[str, factbook.Passage]) -> None:
    assert len(passages) > 8_000
    for passage in passages.values():
        assert passage.text == " ".join(passage.text.split())
        assert not any(mark in passage.text for mark in ("<br", "<p>", "</", "&nbsp;", "&amp;"))
    words = sorted(len(passage.text.split()) for passage in passages.values())
    assert words[len(words) // 2] < 130
    assert words[-1] < 400


def test_nothing_of_the_factbook_is_lost(passages: dict[str, factbook.Passage]) -> None:
    texts: dict[str, str] = {}
    for passage in passages.values():
        code = passage.id.split("-")[0]
        texts[code] = f"{texts.get(code, '')} {passage.text}"
    for country in factbook.countries():
        words = Counter(word.strip(".;,:!?") for word in texts[country.code].split())
        for text in country.fields.values():
            assert not Counter(word.strip(".;,:!?") for word in text.split()) - words
            words += Counter()


def test_there_are_many_questions_of_each_kind() -> None:
    assert Counter(question.hops for question in QUESTIONS).most_common()[-1][1] >= 200
    assert len(QUESTIONS) > 5_000
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)


def test_every_answer_stands_in_the_passage_that_is_named(passages: dict[str, factbook.Passage]) -> None:
    for question in QUESTIONS:
        assert len(set(question.evidence)) == len(question.facts) == len(question.queries) == question.hops
        assert question.golds[0] in passages[question.evidence[-1]].text, question
        assert len(set(question.golds)) == len(question.golds)
        assert not re.search(rf"(?<!\w){re.escape(question.golds[0])}(?!\w)", question.text)


def test_a_clue_names_one_country_only(passages: dict[str, factbook.Passage]) -> None:
    for clue, kind in CLUES.items():
        assert len(named(clue)) > 100
        for value, country in named(clue).items():
            holders = [one for one in factbook.countries() if value in one.fields.get(kind.field, "").split()]
            assert set(holders) <= {country}, (clue, value)


def test_facts_that_anyone_can_check() -> None:
    answers = {question.text: question.golds for question in QUESTIONS}
    assert "Paris" in answers["What is the capital of France?"]
    assert ".jp" in answers["What is the internet country code of Japan?"]
    assert "1962" in answers["In which year did Algeria become independent?"]
    assert "Tahat" in answers["What is the highest point of the country or territory whose capital is Algiers?"]
    alone = "the only country or territory that borders"
    assert "Madrid" in answers[f"What is the capital of {alone} the country or territory whose capital is Lisbon?"]


@pytest.mark.parametrize("page", ["SearchR1-v0", "Search-v0", "RSearch-v0"])
def test_every_gold_is_right_and_other_answers_are_not(page: str) -> None:
    judge = toolenvs.load(page, **PAGE).judge
    assert check(generate("factbook", size=400, max_hops=3), judge.compare) == []
    for question in QUESTIONS:
        assert all(judge.compare(question.golds[0], gold).correct for gold in question.golds[:1])


@pytest.fixture(scope="module")
def retriever() -> retrieval.Retriever:
    return shared.retriever("factbook", None)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_searches_lead_to_the_passages(retriever: retrieval.Retriever, hops: int) -> None:
    asked = factbook.questions(hops)[::7]
    queries = sorted({query for question in asked for query in question.queries})
    found = {query: {hit.id for hit in hits} for query, hits in zip(queries, retriever.search(queries, 3), strict=True)}
    reached = [
        all(passage in found[query] for passage, query in zip(question.evidence, question.queries, strict=True))
        for question in asked
    ]
    assert sum(reached) >= 0.9 * len(asked)


def test_one_search_with_the_question_seldom_answers_what_takes_two_hops(retriever: retrieval.Retriever) -> None:
    asked = factbook.questions(2)[::40]
    hits = retriever.search([question.text for question in asked], 3)
    answered = sum(
        question.evidence[-1] in {hit.id for hit in found} for question, found in zip(asked, hits, strict=True)
    )
    assert answered < 0.3 * len(asked)


def test_the_oracle_solves_tasks_through_the_page() -> None:
    blueprint = toolenvs.load("SearchR1-v0", **PAGE)
    tasks = [task for task in (blueprint.tasks[number] for number in range(40)) if task.extra["hops"] > 1][:20]
    trajectories = loop.run(collect(blueprint, Oracle(blueprint), tasks))
    assert sum(trajectory.success or 0 for trajectory in trajectories) >= 18
    for trajectory, task in zip(trajectories, tasks, strict=True):
        assert trajectory.usage["calls"] == task.extra["hops"]


def test_tasks_are_the_same_in_every_process() -> None:
    script = (
        "from toolenvs.tasks.generated import generate\n"
        "print(*(task.question for task in generate('factbook', size=30, seed=5, max_hops=3)), sep='\\n')"
    )
    there = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    here = [task.question for task in generate("factbook", size=30, seed=5, max_hops=3)]
    assert there.splitlines() == here
    assert here != [task.question for task in generate("factbook", size=30, seed=6, max_hops=3)]


def test_a_page_is_told_when_its_corpus_is_another_than_its_questions() -> None:
    for index, about in (("world:1000", "factbook"), ("factbook", "world")):
        with pytest.raises(PageError, match="set it to"):
            toolenvs.load("SearchR1-v0", tools={"search": {"index": index}}, tasks={"set": about})
    with pytest.raises(TaskError, match="max_hops"):
        generate("factbook", max_hops=4)
    with pytest.raises(TaskError, match="1 to 3 hops"):
        factbook.questions(0)


def test_the_corpus_is_indexed_by_its_name(tmp_path: Path, passages: dict[str, factbook.Passage]) -> None:
    store = retrieval.index("factbook", tmp_path / "index")
    assert len(store) == len(passages)
    with retrieval.open(tmp_path / "index") as opened:
        hit = opened.search(["capital of Algeria"], 1)[0][0]
        assert (passages[hit.id].title, passages[hit.id].text) == (hit.title, hit.text)
