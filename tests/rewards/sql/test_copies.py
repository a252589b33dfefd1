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


def test_some_values_do_not_come(tmp_path: Path) -> None:
    """The largest is another then, and so is how many there are; without that, golds that ask for them were refused."""
    path = tmp_path / "few.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute(
            "CREATE TABLE few (kind TEXT COLLATE NOCASE, size INTEGER, flag INTEGER, tag TEXT, UNIQUE (tag, size))"
        )
        rows = [("aAbBcC"[n % 6], n % 9, n % 2, "xyz"[n // 9 % 3]) for n in range(90)]
        base.executemany("INSERT OR IGNORE INTO few VALUES (?, ?, ?, ?)", rows)
        base.commit()
    told = "SELECT min(size), max(size), count(DISTINCT kind COLLATE BINARY), count(DISTINCT flag), max(tag) FROM few"
    found = []
    for number in range(4):
        write_copy(path, tmp_path / "copy.sqlite", number=number)
        found += ask(tmp_path / "copy.sqlite", told)
    assert found[0] == (3, 8, 4, 2, "z")
    assert found[2] == (0, 5, 4, 1, "y")


def test_days_are_put_where_days_are(tmp_path: Path) -> None:
    path = tmp_path / "days.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE days (day TEXT, moment TEXT)")
        days = [f"20{n % 5 + 18}-0{n % 9 + 1}-1{n % 10}" for n in range(200)]
        base.executemany("INSERT INTO days VALUES (?, ?)", [(day, f"{day} 07:30:00") for day in days])
        base.commit()
    plants = [Boundary("day", "2022%", pattern=True), Boundary("day", "2021-02"), Boundary("moment", "2020-03-01")]
    plants += [Boundary("day", "%-01-%", pattern=True), Boundary("day", "0001"), Boundary("day", "2021-02-30")]
    write_copy(path, tmp_path / "copy.sqlite", number=1, plants=plants)
    put = ask(tmp_path / "copy.sqlite", "SELECT DISTINCT day FROM days WHERE substr(day, 6, 2) IN ('12', '01', '02')")
    assert {"2021-12-31", "2022-01-01", "2022-12-31", "2023-01-01", "2021-02-01", "2021-02-28"} <= {d for (d,) in put}
    assert ask(tmp_path / "copy.sqlite", "SELECT count(*) FROM days WHERE date(day) IS NOT day") == [(0,)]
    for day in ("2020-02-29", "2020-03-01", "2020-03-02"):
        assert ask(tmp_path / "copy.sqlite", f"SELECT count(*) FROM days WHERE moment = '{day} 07:30:00'")[0][0] > 5


def test_texts_that_hold_another_are_put_where_there_are_many(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE texts (kind TEXT, name TEXT)")
        base.executemany("INSERT INTO texts VALUES (?, ?)", [("ab"[n % 2], f"n{n % 50}") for n in range(200)])
        base.commit()
    plants = [Boundary("kind", "a"), Boundary("name", "n7")]
    write_copy(path, tmp_path / "copy.sqlite", number=0, plants=plants)
    assert ask(tmp_path / "copy.sqlite", "SELECT count(DISTINCT kind) FROM texts") == [(2,)]
    for name in ("n7", "n7x", "xn7"):
        assert ask(tmp_path / "copy.sqlite", f"SELECT count(*) FROM texts WHERE name = '{name}'")[0][0] > 5


def test_one_row_has_a_text_where_no_two_have_the_same(tmp_path: Path) -> None:
    path = tmp_path / "alone.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.executescript(
            "CREATE TABLE alone (id INTEGER PRIMARY KEY, name TEXT, day TEXT);"
            "CREATE TABLE refers (alone_id INTEGER NOT NULL REFERENCES alone);"
        )
        rows = [(n, f"n{n}", f"2024-0{n % 9 + 1}-{n % 28 + 1:02} 1{n % 10}:00") for n in range(90)]
        base.executemany("INSERT INTO alone VALUES (?, ?, ?)", rows)
        base.executemany("INSERT INTO refers VALUES (?)", [(n % 90,) for n in range(200)])
        base.commit()
    plants = [Boundary("name", "new%", pattern=True), Boundary("day", "2024-05-05"), Boundary("alone_id", 8)]
    referred = []
    for number in range(4):
        write_copy(path, tmp_path / "copy.sqlite", number=number, plants=plants)
        told = "SELECT count(*) - count(DISTINCT name), count(*) - count(DISTINCT day), total(name = 'newx') FROM alone"
        assert ask(tmp_path / "copy.sqlite", told) == [(0, 0, 1)]
        for day in (4, 5, 6):
            assert ask(tmp_path / "copy.sqlite", f"SELECT count(*) FROM alone WHERE date(day) = '2024-05-0{day}'")[0][0]
        assert ask(tmp_path / "copy.sqlite", "PRAGMA foreign_key_check") == []
        referred += ask(tmp_path / "copy.sqlite", "SELECT count(*) FROM refers WHERE alone_id BETWEEN 7 AND 9")
    assert max(referred) > (20,)


def test_columns_that_hide_what_numbers_rows_and_numbers_beyond_all(tmp_path: Path) -> None:
    path = tmp_path / "hide.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE hide (RowId INTEGER, _rowid_ TEXT, many INTEGER, much REAL)")
        base.executemany("INSERT INTO hide VALUES (?, ?, ?, ?)", [(n % 3, "ab"[n % 2], n, n / 7) for n in range(90)])
        base.execute("CREATE TABLE hidden (oid TEXT, rowid TEXT, _rowid_ TEXT)")
        base.execute("INSERT INTO hidden VALUES ('a', 'b', 'c')")
        base.commit()
    numbers = (2**63 - 1, 10**20, -(10**20), float("inf"), 1e300)
    plants = [Boundary(column, value) for column in ("many", "much", "rowid") for value in numbers]
    found = []
    for number in range(4):
        write_copy(path, tmp_path / "copy.sqlite", number=number, plants=plants)
        found += ask(tmp_path / "copy.sqlite", "SELECT count(DISTINCT RowId), max(many), min(much) FROM hide")
        assert ask(tmp_path / "copy.sqlite", "SELECT * FROM hidden") == [("a", "b", "c")]
    assert {found[0][0], found[2][0]} == {2}
    assert found[0][2] > 0
    assert found[2][1] < 89


def test_flags_stay_flags_and_nothing_turns_negative(tmp_path: Path) -> None:
    path = tmp_path / "flags.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE flags (flag INTEGER, goals INTEGER, share REAL, below INTEGER)")
        base.executemany(
            "INSERT INTO flags VALUES (?, ?, ?, ?)", [(n % 2, n % 4, n % 5 / 4, n % 7 - 3) for n in range(100)]
        )
        base.commit()
    plants = [Boundary(column, value) for column in ("flag", "goals", "share", "below") for value in (0, 1)]
    for number in range(4):
        write_copy(path, tmp_path / "copy.sqlite", number=number, plants=plants)
        alone = ask(tmp_path / "copy.sqlite", "SELECT count(DISTINCT flag) FROM flags")
        assert alone == [(1 if number == 2 else 2,)]  # which flags there are is another answer in one of them
        wrong = "SELECT count(*) FROM flags WHERE flag NOT IN (0, 1) OR goals < 0 OR share < 0"
        assert ask(tmp_path / "copy.sqlite", wrong) == [(0,)]
        assert ask(tmp_path / "copy.sqlite", "SELECT count(*) FROM flags WHERE below = -1")[0][0] > 5


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
