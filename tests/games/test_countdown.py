"""Countdown: expressions are read exactly, and nothing else is."""

import re
import warnings
from fractions import Fraction

import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.games import Countdown
from toolenvs.games.countdown import draw_puzzle, score, value_of
from toolenvs.tasks.seeding import Draws


def test_it_is_a_gymnasium_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Countdown([3, 5, 2], 4), skip_render_check=True)
        check_env(Countdown(render_mode="ansi"), skip_render_check=True)


expressions = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({parts[0]} {parts[1]}{parts[2]})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=8,
)


@given(expression=expressions)
def test_values_are_those_of_exact_arithmetic(expression: str) -> None:
    if len(expression) > 200:
        return
    exact = "".join(f"Fraction({part})" if part.isdigit() else part for part in _split(expression))
    try:
        expected = eval(exact, {"Fraction": Fraction})  # of a text that this test has made
    except ZeroDivisionError:
        expected = None
    assert value_of(expression)[0] == expected


def _split(expression: str) -> list[str]:
    parts: list[str] = []
    for character in expression:
        if character.isdigit() and parts and parts[-1].isdigit():
            parts[-1] += character
        else:
            parts.append(character)
    return parts


@given(text=st.one_of(st.text(max_size=40), st.text("0123456789+-*/() ", max_size=40)))
def test_any_text_is_scored(text: str) -> None:
    earned, why = score(text, (1, 2, 3), 6)
    assert earned in (0.0, 0.1, 1.0)
    assert why


@pytest.mark.parametrize(
    ("expression", "earned", "why"),
    [
        ("2 + 5 - 3", 1.0, "right"),
        ("5-(3-2)", 1.0, "right"),
        (" ( 2 + 5 ) - 3 ", 1.0, "right"),
        ("3 + 5 + 2", 0.1, "its value is 10, not 4"),
        ("3 / (5 - 2) ", 0.1, "its value is 1"),
        ("2 / 3 * 5", 0.1, "its value is 10/3"),
        ("3 5 2", 0.0, "'5' is one too many"),
        ("2 + 5 - 3 = 4", 0.0, "'=' is neither a number"),
        ("2 + 5 - 3 + 0", 0.0, "not each of"),
        ("4", 0.0, "not each of"),
        ("2 + 2", 0.0, "not each of"),
        ("2 ** 5 ** 3", 0.0, "missing before '\\*'"),
        ("__import__('os')", 0.0, "'_' is neither"),
        ("2 + (5 - 3", 0.0, "a \\) is missing"),
        ("", 0.0, "ends too early"),
        ("٢ + 5 - 3", 0.0, "neither"),
        ("(" * 150 + "2", 0.0, "nested deeper"),
        ("-" * 150 + "2", 0.0, "nested deeper"),
        ("9" * 201, 0.0, "201 characters"),
    ],
)
def test_what_expressions_earn(expression: str, earned: float, why: str) -> None:
    env = Countdown([3, 5, 2], 4, render_mode="ansi")
    assert env.reset()[0] == env.render() == "Numbers: 3, 5, 2\nTarget: 4"
    _, reward, terminated, truncated, info = env.step(expression)
    assert (reward, terminated, truncated, info["success"]) == (earned, True, False, earned == 1)
    assert re.search(why, score(expression, (3, 5, 2), 4)[1])


def test_dividing_by_zero_is_an_expression_without_a_value() -> None:
    assert score("1 / (2 - 2)", (1, 2, 2), 3) == (0.1, "it divides by zero")


@pytest.mark.parametrize("operators", ["+-*/", "+-", "*/"])
def test_puzzles_have_the_solution_that_is_told(operators: str) -> None:
    for seed in range(60):
        numbers, target, expression = draw_puzzle(Draws("test", seed), operators=operators)
        assert score(expression, numbers, target)[0] == 1
        assert 3 <= len(numbers) <= 4
        assert 10 <= target <= 99
        assert target not in numbers
        assert set(expression) & set("+-*/") <= set(operators)


def test_resets_draw_from_their_seed() -> None:
    one, other = Countdown(), Countdown()
    assert one.reset(seed=7)[0] == other.reset(seed=7)[0]
    assert len({one.reset()[0] for _ in range(5)}) == 5


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"numbers": [1, 2]}, "belong together"),
        ({"target": 2}, "belong together"),
        ({"numbers": [1], "target": 2}, "two whole numbers"),
        ({"numbers": [1, 2.5], "target": 2}, "two whole numbers"),
        ({"numbers": [1, True], "target": 2}, "two whole numbers"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Countdown(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"min_numbers": 1}, {"max_numbers": 2}, {"largest": 5}, {"operators": "^"}])
def test_options_out_of_range(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        draw_puzzle(Draws("test"), **options)  # type: ignore[arg-type]
