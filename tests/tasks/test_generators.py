"""What every generator promises: exact, reproducible, disjoint, hard to guess."""

import contextlib
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.tasks.generated import generator_names
from toolenvs.tasks.task import TaskSet

NAMES = [  # those with computed answers and grades of difficulty
    name
    for name in generator_names()
    if "difficulty" in inspect.signature(importlib.import_module(f"toolenvs.tasks.generators.{name}").make).parameters
]
SPLITS = ("train", "validation", "test")

every_generator = pytest.mark.parametrize("name", NAMES)
every_difficulty = pytest.mark.parametrize("difficulty", range(6))


def printed(program: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    return out.getvalue().strip()


def test_the_two_generators_are_found():
    assert {"arithmetic", "number_theory"} <= set(NAMES)


@every_generator
def test_generated_sets_are_task_sets(name):
    generated = tasks.load(name, size=20)
    assert isinstance(generated, TaskSet)
    assert len(generated) == len(list(generated)) == len({task.id for task in generated}) == 20
    assert generated[-1] == generated[19] == generated[np.int64(19)] == generated.find(generated[19].id)
    for index in (20, -21):
        with pytest.raises(IndexError):
            generated[index]


@every_generator
@pytest.mark.parametrize("tail", ["/20", "/007", "/-1", "/", "", "/x", "/" + "9" * 5000, "/٣"])
def test_find_refuses_other_ids(name, tail):
    generated = tasks.load(name, size=20)
    with pytest.raises(TaskError, match="ids run from"):
        generated.find(generated.name + tail)
    with pytest.raises(TaskError, match="ids run from"):
        generated.find("7")


@every_generator
def test_sizes_by_default(name):
    assert [len(tasks.load(name, split=split)) for split in SPLITS] == [10_000, 1_000, 1_000]
    assert len(tasks.load(name, limit=3)) == 3
    assert len(tasks.load(name, split="test", limit=3_000)) == 1_000


@every_generator
@every_difficulty
def test_programs_print_the_gold(name, difficulty):
    for task in tasks.load(name, difficulty=difficulty, limit=60):
        assert printed(task.extra["program"]) == task.gold
        assert task.extra["difficulty"] == difficulty
        assert task.source == name


@every_generator
@every_difficulty
def test_no_answer_is_worth_guessing(name, difficulty):
    golds = [int(task.gold) for task in tasks.load(name, difficulty=difficulty, size=1500)]
    assert Counter(golds).most_common(1)[0][1] <= 15  # 1 %
    assert len(set(golds)) > 1000
    assert min(map(abs, golds)) >= 100
    low, middle, high = np.quantile(np.abs(np.array(golds, dtype=float)), [0.05, 0.5, 0.95])
    assert high > 10 * low
    assert low < middle < high


@every_generator
def test_splits_share_no_question_whatever_the_seed(name):
    questions = {
        split: {task.question for seed in (0, 1) for task in tasks.load(name, split=split, seed=seed, size=500)}
        for split in SPLITS
    }
    for split in SPLITS:
        assert {tasks.split_of(question) for question in questions[split]} == {split}
    assert not questions["train"] & questions["validation"]
    assert not questions["train"] & questions["test"]
    assert not questions["validation"] & questions["test"]


def test_questions_fall_into_splits_eight_to_one_to_one():
    shares = Counter(tasks.split_of(f"What is {i} + {i}?") for i in range(10_000))
    assert shares["train"] == pytest.approx(8000, abs=200)
    assert shares["validation"] == pytest.approx(1000, abs=150)


@every_generator
def test_seeds_splits_and_indices_give_other_tasks(name):
    sets = [tasks.load(name, seed=seed, split=split, size=100) for seed in (0, 1) for split in SPLITS]
    questions = [task.question for generated in sets for task in generated]
    assert len(set(questions)) > 0.98 * len(questions)


@every_generator
@given(seed=st.integers(-(2**70), 2**70), index=st.integers(0, 10**17), difficulty=st.integers(0, 5))
@settings(max_examples=40)
def test_any_seed_and_index_give_the_same_task_twice(name, seed, index, difficulty):
    def fresh():
        return tasks.load(name, seed=seed, size=10**18, split="validation", difficulty=difficulty)

    task = fresh()[index]
    assert fresh()[index] == task == fresh().find(task.id)
    assert task.question.isascii()
    assert re.fullmatch(r"-?[1-9][0-9]*", task.gold)


@every_generator
def test_tasks_are_equal_across_processes_and_hash_seeds(name):
    code = f"from toolenvs import tasks; print([t for s in {SPLITS} for t in tasks.load({name!r}, split=s, size=5)])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for hash_seed in ("0", "1", "4242")
    }
    here = [task for split in SPLITS for task in tasks.load(name, split=split, size=5)]
    assert outputs == {str(here)}


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("arithmetic", "500 * 504 * (135 + 768)"),
        ("number_theory", "What is lcm(1568, 254) + gcd(2994, 7418)?"),
    ],
)
def test_published_tasks_never_change(name, question):
    assert tasks.load(name, seed=3, split="test", difficulty=2)[5].question == question


@every_generator
@pytest.mark.parametrize("difficulty", [-1, 6, "hard", 1.0, True, None])
def test_difficulty_out_of_range_is_refused(name, difficulty):
    with pytest.raises(TaskError, match="give 0 to 5"):
        tasks.load(name, difficulty=difficulty)


@every_generator
@pytest.mark.parametrize("options", [{"size": 5.0}, {"size": 10**19}, {"seed": "0"}, {"seed": None}])
def test_sizes_and_seeds_are_whole_numbers(name, options):
    with pytest.raises(TaskError, match="a whole number"):
        tasks.load(name, **options)
