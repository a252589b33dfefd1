"""The arithmetic generator: what its expressions look like, and that its worked solutions are right."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError


def operands_of(question: str) -> list[str]:
    return re.findall(r"\d+", question)


def test_difficulty_0_is_three_two_digit_operands():
    for task in tasks.load("arithmetic", size=300):
        assert re.fullmatch(r"[0-9 +\-*()]+", task.question)
        assert [len(operand) for operand in operands_of(task.question)] == [2, 2, 2]
        assert sum(task.question.count(operator) for operator in "+-*") == 2


def test_all_operators_and_parentheses_occur():
    questions = [task.question for task in tasks.load("arithmetic", size=300)]
    for mark in ("+", "-", "*", "("):
        assert sum(mark in question for question in questions) > 30
    assert all("*" in question for question in questions)


@given(st.integers(3, 20), st.integers(1, 12), st.integers(0, 100))
def test_knobs_set_the_operands(operands, digits, index):
    task = tasks.load("arithmetic", operands=operands, digits=digits)[index]
    assert [len(operand) for operand in operands_of(task.question)] == [digits] * operands
    assert eval(task.question) == int(task.gold)
    assert abs(int(task.gold)) >= 10**digits


@given(st.integers(0, 5), st.integers(0, 500))
def test_worked_solutions_hold_step_by_step(difficulty, index):
    task = tasks.load("arithmetic", difficulty=difficulty)[index]
    *steps, end = task.extra["solution"].removesuffix(".").split(". ")
    assert end == f"The answer is {task.gold}"
    assert len(steps) == len(operands_of(task.question)) - 1
    for step in steps:
        left, right = step.split(" = ")
        assert eval(left) == int(right)
    assert steps[-1].endswith(f" = {task.gold}")


def test_negative_right_operands_are_bracketed_in_solutions():
    solutions = [task.extra["solution"] for task in tasks.load("arithmetic", difficulty=3, size=300)]
    assert any(" (-" in solution for solution in solutions)
    assert not any(re.search(r"[+*-] -", solution) for solution in solutions)


def test_parentheses_hold_operations():
    for task in tasks.load("arithmetic", difficulty=5, size=100):
        assert not re.search(r"\(\d+\)", task.question)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operands": 2}, "operands is 2; give 3 to 20"),
        ({"digits": 13}, "digits is 13; give 1 to 12"),
        ({"operands": 3.0}, "operands is 3.0;"),
    ],
)
def test_knobs_out_of_range_are_refused(options, message):
    with pytest.raises(TaskError, match=message):
        tasks.load("arithmetic", **options)
