"""The world's database says what its passages say, and is the same everywhere."""

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from toolenvs.errors import TaskError
from toolenvs.world import KINDS, World
from toolenvs.world.sql import THRESHOLDS, named_file, world_file, write
from toolenvs.world.sql.tables import columns

WORLD = World(500, seed=3)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("world") / "world.sqlite"
    write(WORLD, file)
    return file


def test_every_passage_is_a_row_with_its_facts(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA foreign_key_check").fetchall() == []
        names = {kind: dict(base.execute(f"SELECT id, name FROM {kind}")) for kind in KINDS}
        for kind in KINDS:
            rows = base.execute(f"SELECT * FROM {kind} ORDER BY id").fetchall()
            assert len(rows) == WORLD.counts[kind]
            for row in rows:
                told = dict(zip(columns(kind), row, strict=True))
                entity = WORLD.find(f"{kind}-{told['id'] - 1}")
                assert told["name"] == entity.name
                for fact, key in entity.links.items():
                    assert names[key.kind][told[f"{fact}_id"]] == WORLD.name(key)
                assert {fact: told[fact] for fact in (*entity.figures, *entity.words)} == {
                    **entity.figures,
                    **entity.words,
                }


def test_the_same_world_gives_the_same_bytes_in_any_process(path: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from toolenvs.world import World; from toolenvs.world.sql import write\n"
        "write(World(500, seed=3), Path(sys.argv[1]))"
    )
    for hash_seed in ("1", "77"):
        other = tmp_path / f"{hash_seed}.sqlite"
        subprocess.run(
            [sys.executable, "-c", program, other], check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}
        )
        assert hashlib.sha256(other.read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest()
    write(World(500, seed=4), tmp_path / "seed.sqlite")
    assert (tmp_path / "seed.sqlite").read_bytes() != path.read_bytes()


def test_thresholds_lie_within_the_data(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as base:
        for (kind, column), values in THRESHOLDS.items():
            low, high = base.execute(f"SELECT min({column}), max({column}) FROM {kind}").fetchone()
            inside = [low < value < high for value in values]
            assert sum(inside) >= len(values) / 2, (kind, column, low, high)


def test_files_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = named_file("world:200:5")
    assert made is not None
    assert made.is_relative_to(tmp_path)
    assert made == world_file(200, 5)
    before = made.stat().st_mtime_ns
    assert world_file(200, 5).stat().st_mtime_ns == before
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert named_file("chinook") is named_file("world:x") is None
    with pytest.raises(TaskError, match="a world has 100 to"):
        named_file("world:5")
    with pytest.raises(TaskError, match="at most 100000 entities"):
        named_file("world:100001")


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(TaskError, match=r"cannot be written .*set XDG_CACHE_HOME"):
        world_file(200)
