"""A small music shop in each engine, made once: the tables that the cases speak of."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import Database

_GENRES = [
    "Rock", "Jazz", "Metal", "Alternative", "Blues", "Latin", "Reggae", "Pop", "Soundtrack", "Bossa", "Dance", "Heavy",
    "Soul", "Funk", "World", "Electronic", "Folk", "Opera", "Drama", "Comedy", "Punk", "Country", "Classical",
    "Gospel", "Spoken",
]  # fmt: skip
_TABLES = [
    'CREATE TABLE "Genre" ("GenreId" INTEGER NOT NULL PRIMARY KEY, "Name" TEXT)',
    'CREATE TABLE "Track" ("TrackId" INTEGER NOT NULL PRIMARY KEY, "Name" TEXT NOT NULL, "Composer" TEXT, '
    '"GenreId" INTEGER REFERENCES "Genre" ("GenreId"), "Milliseconds" INTEGER, "UnitPrice" NUMERIC(10, 2))',
    'CREATE VIEW "Long" AS SELECT "Name", "Milliseconds" FROM "Track" WHERE "Milliseconds" > 100000',
]
_ROWS = {
    "Genre": [(number, name) for number, name in enumerate(_GENRES, start=1)],
    "Track": [  # every third one has no composer
        (n, f"Song {n * 7919 % 10_007} of the year", f"Composer {n % 97}" if n % 3 else None, n % 25 + 1, n * 37, 0.99)
        for n in range(1, 3_504)
    ],
}
TIMEOUT_S = 60.0
"""So long that a busy machine meets no deadline where a test expects none."""


@pytest.fixture(scope="session")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "music.db"
    connection = sqlite3.connect(path)
    for table in _TABLES:
        connection.execute(table)
    for name, rows in _ROWS.items():
        connection.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(rows[0]))})", rows)
    connection.execute("CREATE VIRTUAL TABLE Words USING fts5(Name)")
    connection.execute("INSERT INTO Words SELECT Name FROM Genre")
    connection.commit()
    connection.close()
    return path


@pytest.fixture(scope="session")
def sqlite(sqlite_file: Path) -> Iterator[Database]:
    with databases.open(f"sqlite:///{sqlite_file}", workers=1, timeout_s=TIMEOUT_S) as opened:
        yield opened


@pytest.fixture(scope="session")
def duckdb_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import duckdb

    path = tmp_path_factory.mktemp("duckdb") / "music.duckdb"
    with duckdb.connect(str(path)) as connection:
        for table in _TABLES:
            connection.execute(table)
        for name, rows in _ROWS.items():
            values = [list(column) for column in zip(*rows, strict=True)]
            connection.execute(f"INSERT INTO {name} SELECT {', '.join(['unnest(?)'] * len(values))}", values)
    return path


@pytest.fixture(scope="session")
def duckdb(duckdb_file: Path) -> Iterator[Database]:
    with databases.open(f"duckdb:///{duckdb_file}", workers=1, timeout_s=TIMEOUT_S) as opened:
        yield opened
