"""The rewards of DeepResearcher, ASearcher and SynPlanResearch-R1, row by row."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import toolenvs
from toolenvs import schema
from toolenvs.errors import PageError
from toolenvs.rewards.terms import asearcher, deep_researcher, synplan_research
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author, Segment, Transcript

GOLDS = ["red tower"]


@pytest.mark.parametrize(
    ("turns", "answer", "reward"),
    [
        (["a</think><tool_call>{}</tool_call>", "b</think><answer>red tower</answer>"], "red tower", 1.0),
        (["b</think><answer>Red tower, red!</answer>"], "Red tower, red!", 1.0),  # of sets
        (["b</think><answer>the red tower</answer>"], "the red tower", 0.8),  # articles count
        (["b</think><answer>x</answer>"], "x", 0.0),
        (["b</think><answer></answer>"], "", 0.0),
        (["b</think>"], None, -1.0),
        (["<answer>red tower</answer>"], "red tower", -1.0),  # the thought is not closed
        (["<think>b</think><answer>red tower</answer>"], "red tower", -1.0),  # opened twice
        (["a</think><tool_call>{}", "b</think><answer>red tower</answer>"], "red tower", -1.0),
        (["b</think><answer><answer>red tower</answer>"], "red tower", -1.0),
    ],
)
def test_deep_researcher(turns: list[str], answer: str | None, reward: float, moment: Any) -> None:
    ended = moment([("policy", text) for text in turns], answer=answer, score=0.0, golds=GOLDS)
    term = deep_researcher.Term(deep_researcher.Options())
    assert term(ended) == pytest.approx(reward)
    assert term(replace(ended, verdict=None)) == 0


def test_tags_of_pages_neither_make_nor_break_a_format(moment: Any) -> None:
    parts = [("policy", "a</think>"), ("passage", "<think><answer>x</tool_call>"), ("policy", "b</think>")]
    ended = moment(parts, answer="red tower", score=1.0, golds=GOLDS)
    assert deep_researcher.Term(deep_researcher.Options(prefix="<think>"))(ended) == 1.0
    assert deep_researcher.Term(deep_researcher.Options(prefix="", penalty=0.5))(ended) == -0.5


def in_turns(ended: Any, texts: list[str]) -> Any:
    segments = [Segment(Author.POLICY, text, turn) for turn, text in enumerate(texts, start=1)]
    return replace(ended, transcript=Transcript(tuple(segments)), said=tuple(texts))


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        (["a</think><search>x</search>", "b</think>", "<access>u</access>", "<answer>y</answer>"], True),
        (["<answer>y</answer>"], True),
        (["a</think></think><answer>y</answer>"], False),
        (["<search>x</search><access>u</access>"], False),
        (["<search>x"], False),
        (["</access>"], False),
        (["I am the Assistant <answer>y</answer>"], False),
        (["an assistant", "<answer>y</answer>"], False),
        ([], True),
    ],
)
def test_the_format_of_asearcher(turns: list[str], kept: bool, moment: Any) -> None:
    ended = in_turns(moment([], answer="red tower", score=1.0, golds=GOLDS), turns)
    assert asearcher.well_formed(ended) is kept
    assert asearcher.Term(asearcher.Options(guess_share=0.0))(ended) == float(kept)


def test_stop_strings_that_were_written_again_belong_to_the_turn(moment: Any) -> None:
    parts = [("policy", "<search>x"), ("harness", "</search>"), ("passage", "</search> assistant"), ("harness", "\n")]
    assert asearcher.well_formed(moment(parts, answer=None, score=0.0))


@pytest.mark.parametrize(
    ("answer", "augmented", "metric", "share", "reward"),
    [
        ("red tower", None, "f1", 0.0, 1.0),
        ("tower", None, "f1", 0.0, 2 / 3),
        ("tower", None, "em", 0.0, 0.0),
        ("tower", "tower", "f1", 0.0, 0.7 * 2 / 3 + 0.3),
        ("red tower", ["x", ""], "f1", 0.0, 1.0),  # the better of the two
        ("tower", [""], "f1", 0.0, 2 / 3),
        ("an invalid red tower", None, "f1", 0.0, 0.8),  # articles are left out
        ("an invalid red tower", None, "f1", 1.0, -0.5),
        ("Valid", None, "f1", 1.0, 0.0),  # the words are looked for in lower case
        (None, None, "f1", 1.0, 0.0),
    ],
)
def test_asearcher(answer: Any, augmented: Any, metric: Any, share: float, reward: float, moment: Any) -> None:
    extra = {} if augmented is None else {"aug_answer": augmented}
    ended = moment([("policy", "x")], answer=answer, score=0.0, golds=GOLDS, extra=extra)
    term = asearcher.Term(asearcher.Options(metric=metric, guess_share=share))
    assert term(ended) == pytest.approx(reward)
    assert term(replace(ended, verdict=None)) == 0


def test_a_share_of_the_tasks_is_asked_for_a_guess_and_told_so() -> None:
    blueprint = toolenvs.load("ASearcherLocal-v0")
    term = asearcher.Term(asearcher.Options())
    told = Counter()
    for index in range(1_000):
        task = Task(id=f"t/{index}", question="Q?", golds=("x",))
        prompt = blueprint.render_prompt(task)
        wants = term.wants_guess(task)
        told[wants] += 1
        assert ("best guess" in prompt) is wants
        assert ("invalid question" in prompt) is not wants
    assert 250 < told[True] < 350


@pytest.mark.parametrize(
    ("turns", "answer", "reward"),
    [
        (["<think>a</think><tool_call>{}</tool_call>", "<think>b</think><answer>red tower</answer>"], "red tower", 1.2),
        (["<think>b</think><answer>tower</answer>"], "tower", 2 / 3 + 0.2),
        (["<think>b</think><answer>x</answer>"], "x", 0.0),
        (["<think>b</think><answer></answer>"], "", 0.0),
        (["<think>b</think> so <answer>red tower</answer> ok"], "red tower", 1.2),  # other text is not looked at
        (["<think> </think><answer>red tower</answer>"], "red tower", 0.0),  # an empty thought; but right
        (["<answer>tower</answer>"], "tower", -0.2),
        (["<answer>x</answer><think>b</think>"], "x", -0.2),
        (["<think>b</think><think>c</think><answer>red tower</answer>"], "red tower", 0.0),
        (["<think>a</think>", "<think>b</think><answer>tower</answer>"], "tower", -0.2),  # a turn without a call
        (["<think>a</think><tool_call>{}</tool_call><tool_call>{}</tool_call>", "<think>b</think><answer>x</answer>"],
         "x", 0.0),  # what is behind the first call is cut off there
        (["<think>a</think>"], None, -0.2),
    ],
)  # fmt: skip
def test_synplan_research(turns: list[str], answer: str | None, reward: float, moment: Any) -> None:
    ended = in_turns(moment([], answer=answer, score=0.0, golds=GOLDS), turns)
    term = synplan_research.Term(synplan_research.Options())
    assert term(ended) == pytest.approx(reward)
    assert term(replace(ended, verdict=None)) == 0


def test_plans_begin_with_a_search_and_are_of_three_to_six_steps() -> None:
    tasks = [Task(id=f"t/{index}", question="Q?", golds=("x",)) for index in range(400)]
    term = synplan_research.Term(synplan_research.Options(plan=True))
    plans = [term.plan(task) for task in tasks]
    assert {plan[0] for plan in plans} == {"web_search"}
    assert Counter(map(len, plans)).keys() == {3, 4, 5, 6}
    later = Counter(step for plan in plans for step in plan[1:])
    assert 0.4 < later["crawl_webpage"] / later.total() < 0.6
    others = synplan_research.Term(synplan_research.Options(plan=True, plan_seed=1))
    assert sum(others.plan(task) == plan for task, plan in zip(tasks, plans, strict=True)) < 100
    blueprint = toolenvs.load("SynPlanResearch-v0", **{"reward.synplan_research.plan": True})
    assert f"in this order, one call each, and answer after the last: {', '.join(plans[0])}." in (
        blueprint.render_prompt(tasks[0])
    )
    plain = toolenvs.load("SynPlanResearch-v0").render_prompt(tasks[0])
    assert "in this order" not in plain
    assert "{plan}" not in plain


def test_settings_are_checked() -> None:
    for options, message in (
        ({"min_steps": 4, "max_steps": 3}, "max_steps of at least min_steps"),
        ({"plan_tools": []}, "a plan needs plan_tools"),
        ({"min_steps": 0}, "min_steps = 0 is out of range"),
    ):
        with pytest.raises(PageError, match=message):
            schema.read(synplan_research.Options, options, "test")
    with pytest.raises(PageError, match="guess_share = -1 is out of range"):
        schema.read(asearcher.Options, {"guess_share": -1}, "test")
    with pytest.raises(PageError, match="penalty = -1 is out of range"):
        schema.read(deep_researcher.Options, {"penalty": -1}, "test")
