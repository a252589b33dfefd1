"""The search tool: what a query gives, how it is shown, and what is told to the model."""

import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from tests.tools.retrievers import Recorded
from toolenvs import loop, schema
from toolenvs.errors import InfrastructureError, PageError, RetrievalError, ToolenvsError, ToolError
from toolenvs.per_process import PerProcess
from toolenvs.retrieval import Hit, shared
from toolenvs.tasks.task import Task
from toolenvs.tools.search import Options, Tool

TASK = Task(id="t", question="q")


def say(options: dict[str, Any], arguments: dict[str, Any]) -> Any:
    async def run() -> Any:
        session = await Tool(schema.read(Options, options, "test")).open(TASK, seed=0, progress=0.0)
        assert await session.fork() is session
        return await session.call(arguments)

    return loop.run(run())


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded([[Hit("7", 1.25, "{text}", "one {rank}"), Hit("8", 1.0, "B", "two")]])
    monkeypatch.setattr(shared, "retriever", lambda index, backend: made)
    return made


def test_passages_are_shown_as_the_page_says(recorded: Recorded) -> None:
    result = say({"topk": 2}, {"query": "who"})
    assert result.text == "Doc 1(Title: {text}) one {rank}\nDoc 2(Title: B) two"
    assert result.data == {"queries": ["who"], "ids": [["7", "8"]]}
    assert recorded.asked == (["who"], 2)
    assert say({"passage": "{id}:{score};"}, {"query": "w"}).text == "7:1.2500;8:1.0000;"
    assert say({"query_chars": 3}, {"query": "where"}).data["queries"] == ["whe"]


def test_a_list_of_queries(recorded: Recorded) -> None:
    recorded.lists = [[Hit("1", 1.0, "A", "a")], []]
    options = {"arguments": "query_list", "nothing": "No results."}
    assert say(options, {"query_list": ["a", "b"]}).text == "Doc 1(Title: A) a\n---\nNo results."
    for wrong in ([], "a", [1], None):
        with pytest.raises(ToolError, match="must be a list of strings"):
            say(options, {"query_list": wrong})
    with pytest.raises(InfrastructureError, match="answered 1 queries with 2 lists"):
        say(options, {"query_list": ["a"]})


def test_a_query_that_is_no_text_is_told_to_the_model(recorded: Recorded) -> None:
    for wrong in (None, 3, ["a"]):
        with pytest.raises(ToolError, match="must be a string"):
            say({}, {"query": wrong})


def test_the_world_is_found_by_its_names() -> None:
    tasks = toolenvs.load("SearchR1-v0").tasks
    for index in range(20):
        task = tasks[index]
        for name, evidence in zip(task.extra["queries"], task.extra["evidence"], strict=True):
            assert say({}, {"query": name}).data["ids"][0][0] == evidence


@pytest.mark.parametrize("index", ["world:", "world:1000:", "world:-5", "world:1000:1:2", "world:99999999"])
def test_a_world_of_the_wrong_form(index: str) -> None:
    with pytest.raises(PageError, match="say 'world:PASSAGES'"):
        say({"index": index}, {"query": "x"})


def test_wrong_indexes_and_ranges(tmp_path: Path) -> None:
    with pytest.raises(ToolenvsError):
        say({"index": str(tmp_path / "none")}, {"query": "x"})
    with pytest.raises(PageError, match="topk = 0 is out of range"):
        say({"topk": 0}, {"query": "x"})


def _build(cache: str) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", cache)
        return say({"index": "world:200:3"}, {"query": "the mayor of a town"}).data["ids"][0]


def test_processes_may_build_an_index_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_build, [str(tmp_path)] * 3)
    assert found[0]
    assert found == [found[0]] * 3
    assert [path.name for path in (tmp_path / "toolenvs" / "indexes").iterdir()] == ["world-200-3-1"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no index that the process shares yet."""
    monkeypatch.setattr(shared, "_shared", PerProcess())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(RetrievalError, match=f"cannot be written to {cache}.*set XDG_CACHE_HOME"):
        say({"index": "world:150"}, {"query": "x"})


@pytest.mark.parametrize("damage", ["empty", "cut"])
def test_a_damaged_world_is_built_again(cache: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    found = say({"index": "world:150"}, {"query": "the mayor of a town"}).data
    indexes = cache / "toolenvs" / "indexes"
    (folder,) = indexes.iterdir()
    if damage == "empty":
        shutil.rmtree(folder)
        folder.mkdir()
    else:
        next(path for path in folder.rglob("*.npy") if path.stat().st_size).write_bytes(b"")
    monkeypatch.setattr(shared, "_shared", PerProcess())
    assert say({"index": "world:150"}, {"query": "the mayor of a town"}).data == found
    assert list(indexes.iterdir()) == [folder]


def test_what_stays_damaged_says_what_to_delete(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cache / "toolenvs" / "indexes" / "world-150-0-1"
    monkeypatch.setattr(shared, "_build", lambda world, folder: folder.mkdir(parents=True))
    with pytest.raises(RetrievalError, match=f"delete {folder}"):
        say({"index": "world:150"}, {"query": "x"})
