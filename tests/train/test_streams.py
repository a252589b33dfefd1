"""No two streams of a run draw the same, wherever in it they stand."""

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import toolenvs
from toolenvs.tasks.rows import from_rows
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.selectors import open_selector
from toolenvs.train.streams import generator, seed_of

PACKAGE = Path(toolenvs.__file__).parent
SOURCES = [*sorted((PACKAGE / "train").rglob("*.py")), *sorted((PACKAGE.parent / "baselines").glob("*.py"))]


def calls():
    """Every call in the trainers' sources: its file, the name of the function, its arguments."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                yield path, getattr(function, "attr", getattr(function, "id", "")), node.args


def test_a_stream_is_its_name_its_seed_and_its_place():
    known = [("a", 0, 1), ("b", 0, 1), ("a", 1, 1), ("a", 0, 1, 0), ("a", 0, 0, 1), ("a", 0), ("a", 0, 10)]
    drawn = {tuple(generator(*each).permutation(20)) for each in known}
    assert len(drawn) == len({seed_of(*each) for each in known}) == len(known)
    assert generator("a", 3, 4).random() == generator("a", 3, 4).random()
    assert all(0 <= seed_of("a", seed, 7) < 2**32 for seed in range(100))


def test_every_use_names_a_stream_of_its_own():
    names = Counter()
    for path, function, arguments in calls():
        if function in ("generator", "seed_of") and arguments and path.name != "streams.py":
            assert isinstance(arguments[0], ast.Constant), path
            names[arguments[0].value] += 1
    assert len(names) > 10
    assert set(names.values()) == {1}


def test_no_generator_of_the_trainers_is_made_from_numbers_in_a_row():
    for path, function, arguments in calls():
        if function in ("default_rng", "SeedSequence"):
            assert not isinstance(arguments[0], ast.List | ast.Tuple), path


@pytest.mark.parametrize("seed", [0, 7])
def test_the_order_of_tasks_is_neither_that_of_mini_batches_nor_of_a_selector(seed):
    size = 24
    tasks = from_rows([{"id": f"t{place}", "question": f"{place}?", "answer": "1"} for place in range(size)])
    dots = open_selector("dots", tasks, seed, {"reference": size})
    orders = [
        TaskSampler(size, seed).take(size),
        dots.reference(size),
        generator("update", seed, 0).permutation(size).tolist(),
        np.random.default_rng([seed, 0]).permutation(size).tolist(),
    ]
    assert len(set(map(tuple, orders))) == len(orders)


def test_stages_of_one_size_are_not_shuffled_alike():
    rows = [{"id": f"t{place}", "question": "?", "answer": "1", "difficulty": place} for place in range(24)]
    curriculum = open_selector("curriculum", from_rows(rows), 0, {"stages": 2})
    first = curriculum.take(12, 0.0)
    assert curriculum.take(12, 0.9) != [place + 12 for place in first]
