"""Task sets travel to other processes and into copies, whatever they are made of."""

import copy
import importlib
import inspect
import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from toolenvs import blueprint, site_facts, tasks
from toolenvs.assets import page_files
from toolenvs.site_facts import Fact
from toolenvs.tasks.generated import DEFAULT_SIZES, generator_names
from toolenvs.tasks.task import TaskSet


def _some(task_set: TaskSet) -> list[tasks.Task]:
    return list(itertools.islice(task_set, 20))


def _copies(task_set: TaskSet) -> list[TaskSet]:
    pickled = [pickle.loads(pickle.dumps(task_set, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    return [*pickled, copy.copy(task_set), copy.deepcopy(task_set)]


@pytest.mark.parametrize("split", DEFAULT_SIZES)
@pytest.mark.parametrize("name", generator_names())
def test_generated_sets(name: str, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "site_pages":  # its questions are read from a site that was recorded on this machine
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        told = ((str(number), f"What is {number}?") for number in range(60))
        asked = [
            Fact(kind="k", subject=one, question=text, answer=one, url="", lines=(0,), path=()) for one, text in told
        ]
        facts = site_facts.Facts(site="python3-doc", fingerprint="", facts=tuple(asked))
        site_facts.write(facts, site_facts.facts_file("python3-doc"))
    make = importlib.import_module(f"toolenvs.tasks.generators.{name}").make
    options = {"difficulty": 3} if "difficulty" in inspect.signature(make).parameters else {}
    generated = tasks.load(name, split=split, seed=7, limit=50, **options)
    for again in _copies(generated):
        assert (again.name, len(again)) == (generated.name, 50)
        assert list(again) == list(generated)
        assert again.find(generated[49].id) == generated[49]


@pytest.mark.parametrize("page", page_files())
def test_the_tasks_of_every_page(page: str) -> None:
    task_set = blueprint.load(page).tasks
    for again in _copies(task_set):
        assert len(again) == len(task_set)
        assert _some(again) == _some(task_set)


def test_sets_of_rows(samples) -> None:
    for name, rows in samples.items():
        task_set = tasks.from_rows(rows, name=name)
        for again in _copies(task_set):
            assert list(again) == list(task_set)
            assert again.find(task_set[1].id) == task_set[1]
            assert (again.name, again.duplicates, again.skipped) == (name, task_set.duplicates, task_set.skipped)


def test_a_set_arrives_in_another_process(tmp_path: Path) -> None:
    task_set = tasks.load("arithmetic", split="test", operands=4, digits=5, size=5)
    file = tmp_path / "set.pickle"
    file.write_bytes(pickle.dumps(task_set))
    program = "import pickle, sys; print(list(pickle.load(open(sys.argv[1], 'rb'))))"
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", program, file], capture_output=True, text=True)
    assert told.stdout.strip() == str(list(task_set)), told.stderr
