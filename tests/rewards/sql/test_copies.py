"""Changed copies: what a schema says still holds in them, and the data is another."""

import contextlib
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from toolenvs.errors import TaskError
from toolenvs.rewards.sql.boundaries import Boundary
from toolenvs.rewards.sql.copies import write_copy

PLANTS = (
    Boundary("price", 40), Boundary("born", 1960), Boundary("kind", "lamp"), Boundary("name", "Name 3"),
    Boundary("customer_id", 9, counted=True), Boundary("day", 3, counted=True),
)  # fmt: skip


def contents(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as base:
        return hashlib.sha256("\n".join(base.iterdump()).encode("utf-8", "backslashreplace")).hexdigest()


def ask(path: Path, sql: str) -> Any:
    with contextlib.closing(sqlite3.connect(path)) as base:
        return base.execute(sql).fetchall()


@pytest.fixture(scope="module", params=range(4))
def copy(request: pytest.FixtureRequest, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("copies") / "copy.sqlite"
    write_copy(shop, path, number=request.param, plants=PLANTS)
    return path


def test_the_schema_holds(shop: Path, copy: Path) -> None:
    assert ask(copy, "PRAGMA integrity_check") == [("ok",)]
    assert ask(copy, "PRAGMA foreign_key_check") == []
    tables = "SELECT name, sql FROM sqlite_schema WHERE type <> 'trigger' ORDER BY name"
    assert ask(copy, tables) == ask(shop, tables)
    assert ask(copy, "SELECT count(*) FROM log") == [(0,)]  # the trigger did not fire
    assert ask(copy, "SELECT count(*) FROM purchase WHERE cents <> CAST(price * 100 AS INTEGER)") == [(0,)]


def test_what_the_data_obeys_holds(copy: Path) -> None:
    for column in ("kind", "day", "price", "customer_id"):
        assert ask(copy, f"SELECT count(*) FROM purchase WHERE {column} IS NULL") == [(0,)]
    assert ask(copy, "SELECT count(mail) < count(*), count(DISTINCT mail) = count(mail) FROM customer") == [(1, 1)]
    assert ask(copy, "SELECT DISTINCT typeof(photo), typeof(born) FROM customer") == [("blob", "integer")]


def test_rows_are_gone_and_values_are_elsewhere(shop: Path, copy: Path) -> None:
    for table in ("customer", "purchase", "likes"):
        assert 1 <= ask(copy, f"SELECT count(*) FROM {table}")[0][0] < ask(shop, f"SELECT count(*) FROM {table}")[0][0]
    before, after = (dict(ask(path, "SELECT id, mail FROM customer")) for path in (shop, copy))
    same = sum(before[row] == mail for row, mail in after.items())
    assert same < len(after) / 2


def test_rows_lie_on_the_boundaries(shop: Path, copy: Path) -> None:
    assert ask(copy, "SELECT count(*) FROM purchase WHERE price = 40")[0][0] > 5
    for year in (1959, 1960, 1961):
        assert ask(copy, f"SELECT count(*) FROM customer WHERE born = {year}")[0][0] >= 1
    lamps = [ask(path, "SELECT avg(kind = 'lamp') FROM purchase")[0][0] for path in (shop, copy)]
    assert lamps[1] > lamps[0]


def test_groups_have_as_many_rows_as_golds_count(shop: Path, tmp_path: Path) -> None:
    for number in (1, 3):
        write_copy(shop, tmp_path / "copy.sqlite", number=number, plants=PLANTS)
        for column, asked in (("customer_id", {1, 2, 8, 9, 10}), ("day", {2, 3, 4})):
            sizes = f"SELECT DISTINCT count(*) FROM purchase GROUP BY {column}"
            assert asked <= {size for (size,) in ask(tmp_path / "copy.sqlite", sizes)}, column
    sizes = "SELECT DISTINCT count(*) FROM purchase GROUP BY customer_id"
    assert not {1, 2, 8, 10} & {size for (size,) in ask(shop, sizes)}


def test_a_copy_is_fixed_by_its_arguments(shop: Path, tmp_path: Path) -> None:
    made = []
    for number, seed in ((0, 0), (0, 0), (1, 0), (0, 1)):
        write_copy(shop, tmp_path / "copy.sqlite", number=number, seed=seed)
        made.append(contents(tmp_path / "copy.sqlite"))
    assert made[0] == made[1]
    assert len(set(made)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["copy.sqlite"]


def test_the_source_is_left_alone(shop: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(shop.read_bytes()).hexdigest()
    write_copy(shop, tmp_path / "copy.sqlite", number=2)
    assert hashlib.sha256(shop.read_bytes()).hexdigest() == before


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_text("no database, but long enough to be looked at as one" * 40)
    with pytest.raises(TaskError, match=r"a\.sqlite: no changed copy can be made .*is it a SQLite database\?"):
        write_copy(tmp_path / "a.sqlite", tmp_path / "b.sqlite", number=0)
    assert not (tmp_path / "b.sqlite").exists()


def test_awkward_tables(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.executescript(
            """
            CREATE TABLE "od""d name" ("a b" TEXT, "select" INTEGER, CHECK ("a b" <> 'x' OR "select" = 1));
            INSERT INTO "od""d name" VALUES ('x', 1), ('y', 2), ('z', 3), (CAST(x'ff41' AS TEXT), 4);
            CREATE TABLE none_left (a);
            CREATE TABLE refers (x INTEGER REFERENCES nowhere (id));
            INSERT INTO refers VALUES (1), (2), (3);
            CREATE TABLE pair (a, b, PRIMARY KEY (a, b));
            INSERT INTO pair VALUES (1, 1), (1, 2), (2, 1);
            CREATE TABLE to_pair (p, q, FOREIGN KEY (p, q) REFERENCES pair (a, b));
            INSERT INTO to_pair VALUES (1, 1), (1, 2);
            """
        )
    write_copy(path, tmp_path / "copy.sqlite", number=3)
    assert ask(tmp_path / "copy.sqlite", "PRAGMA integrity_check") == [("ok",)]
    assert ask(tmp_path / "copy.sqlite", 'SELECT count(*) FROM "od""d name"')[0][0] >= 1
