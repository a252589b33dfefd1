"""SSRL's graded format, on rows computed by hand, and its place in a real search."""

from dataclasses import replace
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.episode import Episode
from toolenvs.rewards.terms.self_search import Options, Term

T, S, A = "<think>a</think>", "<search>b</search>\n<information>c</information>", "<answer>d</answer>"


@pytest.mark.parametrize(
    ("response", "grade"),
    [
        (T + S + T + A, 1.0),  # T 2, S 1: min(1, 1) * 2 / 2
        (f"\n{T}\n{S}\n{T}\n{A}\n", 1.0),
        (T + S + T + S + T + A, 1.0),  # T 3, S 2
        (T + S + S + A, 0.5 * 1 / 3),  # T 1, S 2
        (T + S + A, 0.5 * 1 / 2),  # T 1, S 1
        (T + T + T + A, 1 / 3),  # T 3, S 0
        (T * 3 + S + A, 2 / 3),  # T 3, S 1
        (T * 7 + S * 7 + T + A, 1.0),  # T 8, S 7
        (T * 8 + S * 8 + T + A, 0.0),  # T 9
        (T + A, 0.0),  # fewer than four blocks
        (T + T + A, 0.0),
        ("", 0.0),
        ("so " + T + S + T + A, 0.0),
        (T + S + T + A + " so", 0.0),
        (S + T + T + A, 0.0),
        (T + S + T, 0.0),
        (T + S + T + "<b>bold</b>" + A, 0.0),
        (T + S + "<think>x < y > z</think>" + A, 1.0),
        (T + S + "<think> </think>" + A, 0.0),
        (T + S + T + "<answer></answer>", 0.0),
        (T + "<search>b\nc</search><information>c</information>" + T + A, 0.0),
        (T + "<search>b</search>" + T + "<information>c</information>" + A, 0.0),
        (T + "<search>b</search>" + T + A, 0.0),
        (T + S + "<information>c</information>" + T + A, 0.0),
        (T + "<think><search>b</search></think>" + S + A, 0.0),
        (T + S + "<think>never closed" + A, 0.0),
        (T + S + "<think>my words</think>" + A, 0.0),  # copied
    ],
)
def test_grades(response: str, grade: float) -> None:
    assert Term(Options(placeholders=("my words",))).grade(response) == pytest.approx(grade)


def test_reward(moment: Any) -> None:
    right = moment([("policy", T), ("forged", S), ("policy", T + A)], answer="d", score=1.0)
    assert Term(Options())(right) == pytest.approx(1.0)
    assert Term(Options(outcome=0.5, format=0.25))(right) == pytest.approx(0.75)
    assert Term(Options())(moment([("policy", A)], answer="d", score=1.0)) == pytest.approx(0.9)
    wrong = moment([("policy", T + S + A)], answer="e", score=0.0)
    assert Term(Options())(wrong) == pytest.approx(0.1 * 0.25)
    assert Term(Options())(replace(right, verdict=None)) == 0


def test_the_same_page_with_a_real_search() -> None:
    calls = {"search": {"tool": "search", "argument": "query"}}
    real = {"protocol.calls": calls, "tools.search": {"topk": 1}, "max_turns": 3, "when_spent": "last_turn"}
    blueprint = toolenvs.load("SSRL-v0", **real)
    task = blueprint.tasks[0]
    episode = Episode(blueprint, task)
    turn = loop.run(episode.step(f"<think>a</think><search>{task.extra['queries'][0]}</search>"))
    assert turn.calls[0].status == "ok"
    turn = loop.run(episode.step(f"<think>b</think><answer>{task.gold}</answer>"))
    assert turn.reward == pytest.approx(1.0)
