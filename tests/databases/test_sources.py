"""Which database a task is about."""

from pathlib import Path
from typing import Any

import pytest

from toolenvs.databases.sources import made, name_of, source_of
from toolenvs.errors import TaskError
from toolenvs.tasks.task import Task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in ("shop/shop.sqlite", "bar/bar.db", "spider/database/club/club.sqlite", "mine.sqlite"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


def task(**extra: Any) -> Task:
    return Task(id="t", question="q", extra=extra)


@pytest.mark.parametrize(
    ("extra", "keys", "found"),
    [
        ({"database": "{}/mine.sqlite", "db_id": "shop"}, {"folder": "{}"}, "mine.sqlite"),
        ({"database": "{}/gone.sqlite", "db_id": "shop"}, {"folder": "{}"}, "shop/shop.sqlite"),
        ({"db_id": "bar"}, {"folder": "{}", "default": "world:200"}, "bar/bar.db"),
        ({"db_id": "club", "data": "spider"}, {"folder": "{}"}, "spider/database/club/club.sqlite"),
        ({"db_id": "club"}, {"default": "{}/mine.sqlite"}, "mine.sqlite"),  # a file that the page names is meant
        ({}, {"folder": "{}", "default": "{}/mine.sqlite"}, "mine.sqlite"),
    ],
)
def test_found(folder: Path, extra: dict[str, str], keys: dict[str, str], found: str) -> None:
    here = {key: value.replace("{}", str(folder)) for key, value in extra.items()}
    given = {key: value.replace("{}", str(folder)) for key, value in keys.items()}
    assert source_of(task(**here), **given) == folder / found


def test_one_that_is_made() -> None:
    for one, default in ((task(), "world:200:3"), (task(database="world:200:3", db_id="world"), "world:100")):
        assert name_of(one, default=default) == "world:200:3"
        assert source_of(one, default=default) == made("world:200:3")
    assert made("mine.sqlite") is None


@pytest.mark.parametrize(
    ("extra", "keys", "message"),
    [
        ({}, {}, "does not say which database it is about"),
        ({"db_id": "shop"}, {"default": "world:200"}, "does not say which database it is about"),
        ({"db_id": "town"}, {"folder": "{}"}, r"town/town.sqlite is not there; is '.*' the right folder"),
        ({"db_id": "town"}, {"folder": "{}", "default": "{}/mine.sqlite"}, r"town/town.sqlite is not there; is "),
        ({"database": "gone.sqlite"}, {"default": "world:200"}, "gone.sqlite is not there, and no folder of databases"),
        ({"database": "gone.db", "db_id": "x"}, {"folder": "{}"}, r"gone.db nor .*x/x.sqlite is not there"),
        ({}, {"default": "gone.sqlite"}, "its database gone.sqlite is not there"),
    ],
)
def test_not_found(folder: Path, extra: dict[str, str], keys: dict[str, str], message: str) -> None:
    given = {key: value.replace("{}", str(folder)) for key, value in keys.items()}
    with pytest.raises(TaskError, match=f"task 't'.*{message}"):
        name_of(task(**extra), **given)
