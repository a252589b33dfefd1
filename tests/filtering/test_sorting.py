"""Estimators, labels and rules."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.filtering import Counts, Rule, label, pass_at_k, report, sort
from toolenvs.tasks.task import Task


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_that_hold_a_solved_try(case: tuple[int, int, int]) -> None:
    tries, solved, k = case
    draws = list(itertools.combinations([True] * solved + [False] * (tries - solved), k))
    assert pass_at_k(solved, tries, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize(("solved", "tries", "k"), [(1, 3, 0), (1, 3, 4), (4, 3, 1), (-1, 3, 1)])
def test_pass_at_k_refuses_what_cannot_be(solved: int, tries: int, k: int) -> None:
    with pytest.raises(ValueError, match="cannot be told"):
        pass_at_k(solved, tries, k)


def test_labels() -> None:
    assert [label(solved, 6) for solved in range(7)] == [
        "unsolved", "hard", "hard", "medium", "medium", "easy", "always",
    ]  # fmt: skip
    assert [label(solved, 1) for solved in range(2)] == ["unsolved", "always"]


def made(*tries: list[float]) -> tuple[list[Task], dict[str, Counts]]:
    tasks = [Task(id=str(place), question=f"q{place}", golds=("g",), source="ab"[place % 2]) for place in range(9)]
    tasks = tasks[: len(tries)]
    return tasks, {task.id: Counts(dict(enumerate(own))) for task, own in zip(tasks, tries, strict=True)}


def test_what_is_kept_and_what_the_report_says() -> None:
    tasks, counts = made([0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0], [0.5, 1, 1, 0])
    counts["3"].failures = 1
    rule = Rule(min_rate=0.25, max_rate=0.75)
    done = sort(tasks, counts, n=4, rule=rule)
    assert [[task.id for task in part] for part in (done.kept, done.dropped, done.unmeasured)] == [
        ["1", "4"], ["0", "2"], ["3"],
    ]  # fmt: skip
    assert done.columns["4"] == {"solved": 2, "tries": 4, "pass_rate": 0.5, "difficulty": "medium"}
    told = report(done, counts, n=4, rule=rule)
    assert (told["tasks"], told["kept"], told["dropped"], told["unmeasured"]) == (5, 2, 2, 1)
    assert (told["tries"], told["solved_tries"], told["infrastructure_failures"]) == (19, 8, 1)
    assert told["pass_at_k"]["1"] == pytest.approx((0 + 0.25 + 1 + 0.5) / 4)
    assert told["pass_at_k"]["4"] == pytest.approx(3 / 4)
    assert told["difficulty"] == {"unsolved": 1, "hard": 1, "medium": 1, "easy": 0, "always": 1}
    assert told["sources"] == {"a": {"tasks": 3, "kept": 1}, "b": {"tasks": 1, "kept": 1}}
    graded = sort(tasks, counts, n=4, rule=Rule(solved_at=0.5), closed_book=True)
    assert graded.columns["4"] == {"closed_book_solved": 3, "closed_book_tries": 4, "closed_book_pass_rate": 0.75}


@given(
    rates=st.lists(st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=0, max_size=4), max_size=9),
    bounds=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_every_task_is_in_one_list(rates: list[list[float]], bounds: list[float]) -> None:
    tasks, counts = made(*rates)
    rule = Rule(min_rate=bounds[0], max_rate=bounds[1])
    done = sort(tasks, counts, n=4, rule=rule)
    listed = [*done.kept, *done.dropped, *done.unmeasured]
    assert sorted(task.id for task in listed) == [task.id for task in tasks]
    assert {task.id for task in done.unmeasured} == {task.id for task in tasks if len(counts[task.id].tries) < 4}
    report(done, counts, n=4, rule=rule)


def test_thirds_are_not_lost_to_rounding() -> None:
    assert Rule(min_rate=0.3, max_rate=0.7).keeps(3 / 10)
    assert Rule(min_rate=0.1 + 0.2, max_rate=0.7).keeps(3 / 10)


@pytest.mark.parametrize(
    "options", [{"min_rate": 0.5, "max_rate": 0.2}, {"max_rate": 1.5}, {"solved_at": 0.0}, {"solved_at": float("nan")}]
)
def test_rules_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="give two shares|at most 1"):
        Rule(**options)
