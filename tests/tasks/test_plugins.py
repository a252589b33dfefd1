"""A schema or a generator is added by adding a file: no list is edited."""

import copy
import pickle
import sys

import pytest

from toolenvs import tasks
from toolenvs.tasks import generators, schemas

SCHEMA = """
from toolenvs.tasks.task import Task

def matches(row):
    return "cloze" in row

def to_task(row, index):
    return Task(id=f"cloze-{index}", question=row["cloze"], golds=(row["filler"],))
"""

GENERATOR = """
from toolenvs.tasks.generated import Problem

def make(*, high=1000):
    def problem(draws):
        n = draws.between(1, high)
        return Problem(question=f"What comes after {n}?", answer=n + 1, program=f"print({n} + 1)")
    return problem
"""


@pytest.fixture
def add(tmp_path, monkeypatch):
    added = []

    def add_module(package, name, source):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        added.append((package, name))

    yield add_module
    for package, name in added:
        sys.modules.pop(f"{package.__name__}.{name}", None)
        vars(package).pop(name, None)


def test_a_new_schema_is_found(add):
    add(schemas, "cloze", SCHEMA)
    assert tasks.from_rows([{"cloze": "2, 3, _, 7", "filler": "5"}])[0].gold == "5"


def test_a_new_generator_is_found(add):
    add(generators, "successor", GENERATOR)
    for split in ("train", "test"):
        for task in tasks.load("successor", split=split, size=5, high=10**6):
            assert task.question == f"What comes after {int(task.gold) - 1}?"


def test_a_set_of_a_new_generator_pickles_although_its_problems_come_from_a_closure(add):
    add(generators, "successor", GENERATOR)
    made = tasks.load("successor", size=5, high=10**6)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert list(again) == list(made)
