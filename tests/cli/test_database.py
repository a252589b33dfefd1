"""`toolenvs database`."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolenvs.cli.app import app


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_database_is_written_to_a_file_and_told(tmp_path: Path) -> None:
    out = tmp_path / "zones.sqlite"
    done = CliRunner().invoke(app, ["database", "tzdata", str(out)])
    assert done.exit_code == 0, done.output
    assert "rows in 3 tables: country 249, zone" in done.output
    with contextlib.closing(sqlite3.connect(out)) as base:
        assert base.execute("SELECT name FROM country WHERE code = 'CH'").fetchall() == [("Switzerland",)]
    done = CliRunner().invoke(app, ["database", "tzdata", str(out)])
    assert done.exit_code == 2
    assert "exists: give a name that is free" in done.output
    done = CliRunner().invoke(app, ["database", "tzdata", str(tmp_path / "no" / "file")])
    assert done.exit_code == 2
    assert "cannot be written: No such file" in done.output


def test_without_a_file_it_is_made_in_the_cache(cache: Path) -> None:
    done = CliRunner().invoke(app, ["database", "world:100:7"])
    assert done.exit_code == 0, done.output
    assert str(cache) in done.output
    assert "100 rows in 6 tables: country 1" in done.output


def test_a_name_that_is_none_is_told_with_the_nearest() -> None:
    done = CliRunner().invoke(app, ["database", "chinok"])
    assert done.exit_code == 2
    assert "no database is called 'chinok'; did you mean 'chinook'?" in done.output
