"""Indexes that a process shares: one for tools and judges, of each backend, built when they are first asked for."""

import multiprocessing
from pathlib import Path

import pytest

import toolenvs
from toolenvs.errors import PageError, RetrievalError
from toolenvs.per_process import PerProcess
from toolenvs.retrieval import shared
from toolenvs.world import named


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no index that the process shares yet."""
    monkeypatch.setattr(shared, "_shared", PerProcess())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_tools_and_judges_share_one(cache: Path) -> None:
    blueprint = toolenvs.load("EnvAwareIRTwoTurn-v0")
    tool = blueprint.tools["rewrites"].retriever()  # type: ignore[attr-defined]
    assert blueprint.judge.retriever() is tool
    assert shared.retriever("world:1000", None) is tool
    assert len(shared._shared) == 1


def test_options_make_another_one(cache: Path) -> None:
    plain, numpy = shared.retriever("world:150", None), shared.retriever("world:150", None, kernel="numpy")
    assert numpy is not plain
    assert shared.retriever("world:150", None, kernel="numpy") is numpy
    assert numpy.search(["mayor"], k=3) == plain.search(["mayor"], k=3)


@pytest.mark.parametrize("backend", ["bm25", "boolean", "dense", "hybrid"])
def test_a_world_has_every_backend_that_needs_no_download(cache: Path, backend: str) -> None:
    retriever = shared.retriever("world:150", backend)
    assert retriever.backend == backend
    title = retriever.fetch(["place-3"])[0]
    assert title is not None
    assert retriever.search([title.title], k=3)[0][0].id == "place-3"
    assert shared.retriever("world:150", backend) is retriever


@pytest.mark.parametrize("backend", [None, "boolean"])
def test_a_damaged_world_is_built_again(cache: Path, monkeypatch: pytest.MonkeyPatch, backend: str | None) -> None:
    found = shared.retriever("world:150", backend).search(["mayor"], k=3)
    (folder,) = (cache / "toolenvs" / "indexes").iterdir()
    next(path for path in folder.rglob("starts.npy")).write_bytes(b"")
    monkeypatch.setattr(shared, "_shared", PerProcess())
    assert shared.retriever("world:150", backend).search(["mayor"], k=3) == found


def _searched(cache: str) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", cache)
        return [hit.id for hit in shared.retriever("world:200:3", "dense").search(["the mayor of a town"], k=5)[0]]


def test_processes_may_add_vectors_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_searched, [str(tmp_path)] * 3)
    assert len(found[0]) == 5
    assert found == [found[0]] * 3


def test_vectors_that_cannot_be_written(cache: Path) -> None:
    shared.retriever("world:150", None)
    (folder,) = (cache / "toolenvs" / "indexes").iterdir()
    (folder / ".dense.lock").mkdir()
    with pytest.raises(RetrievalError, match="cannot be written .* make room there"):
        shared.retriever("world:150", "dense")


def test_a_backend_that_is_not_built_is_not_built_again(cache: Path) -> None:
    with pytest.raises(RetrievalError, match="lucene"):
        shared.retriever("world:150", "lucene")


def test_which_world_an_index_is() -> None:
    world = named("world:150:7")
    assert world is not None
    assert (len(world), world.seed) == (150, 7)
    assert named("index/") is None
    with pytest.raises(PageError, match="say 'world:PASSAGES'"):
        named("world:x")


@pytest.mark.parametrize("tasks", ["world", "topics", "world_answers"])
def test_tasks_about_another_world(tasks: str) -> None:
    about = {"set": tasks, "passages": 200, "world": 3}
    assert shared.disagrees("world:200:3", about) is None
    assert shared.disagrees("index/", about) is None
    assert shared.disagrees("world:200", {"set": "rows.jsonl"}) is None
    for index in ("world:200", "world:300:3"):
        assert "set it to 'world:200:3'" in str(shared.disagrees(index, about))
