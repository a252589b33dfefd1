"""Elements beside the Factbook: every answer stands in the passage that is named, and a search finds it."""

import pytest

import toolenvs
from toolenvs import factbook, loop
from toolenvs.agents.scripted import Oracle
from toolenvs.errors import MissingExtraError, PageError, TaskError
from toolenvs.factbook import elements
from toolenvs.retrieval import shared
from toolenvs.rollout.collect import collect
from toolenvs.tasks.checking import check
from toolenvs.tasks.generated import generate

QUESTIONS = [question for hops in (1, 2) for question in elements.questions(hops)]
PAGE = {"tools": {"search": {"index": "elements"}}, "tasks": {"set": "elements", "min_hops": 2}}


def test_every_answer_stands_in_the_passage_that_is_named() -> None:
    passages = {one.id: one for one in (*factbook.passages(), *elements.passages())}
    assert len(elements.questions(1)) >= 150
    assert len(elements.questions(2)) >= 400
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        assert question.golds[0] in passages[question.evidence[-1]].text, question
        assert len(set(question.evidence)) == len(question.queries) == question.hops


def test_facts_that_anyone_can_check() -> None:
    answers = {question.text: question.golds for question in QUESTIONS}
    assert answers["What is the chemical symbol of the element Gallium?"] == ("Ga",)
    assert answers["In which year was the element Gallium discovered?"] == ("1875",)
    assert "Paris" in answers["What is the capital of the country where the element Gallium was discovered?"]


def test_a_year_is_asked_for_only_where_one_is_told() -> None:
    for element in elements.elements():
        assert element.dated is None or element.passage.text.count(element.dated) >= 1


@pytest.mark.parametrize("page", ["SearchR1-v0", "Search-v0"])
def test_every_gold_is_right(page: str) -> None:
    assert check(generate("elements", size=200), toolenvs.load(page, **PAGE).judge.compare) == []


def test_searches_lead_to_the_passages() -> None:
    asked = elements.questions(2)[::5]
    queries = sorted({query for question in asked for query in question.queries})
    hits = shared.retriever("elements", None).search(queries, 3)
    found = {query: {hit.id for hit in one} for query, one in zip(queries, hits, strict=True)}
    reached = [
        all(passage in found[query] for passage, query in zip(one.evidence, one.queries, strict=True)) for one in asked
    ]
    assert sum(reached) >= 0.9 * len(asked)


def test_the_oracle_solves_tasks_through_the_page() -> None:
    blueprint = toolenvs.load("SearchR1-v0", **PAGE)
    tasks = [blueprint.tasks[number] for number in range(10)]
    trajectories = loop.run(collect(blueprint, Oracle(blueprint), tasks))
    assert sum(trajectory.success or 0 for trajectory in trajectories) >= 9


def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PageError, match="set it to 'elements'"):
        toolenvs.load("SearchR1-v0", tools={"search": {"index": "factbook"}}, tasks={"set": "elements"})
    with pytest.raises(TaskError, match="max_hops"):
        generate("elements", max_hops=3)
    with pytest.raises(TaskError, match="1 to 2 hops"):
        elements.questions(3)
    monkeypatch.setattr(elements.util, "find_spec", lambda name: None)
    elements.elements.cache_clear()
    with pytest.raises(MissingExtraError, match="elements"):
        elements.elements()
