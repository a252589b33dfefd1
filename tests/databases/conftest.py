"""A small music shop in each engine, made once: the tables that the cases speak of."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Database]:
    """One table with one row, and two processes that nobody has used."""
    path = tmp_path / "one.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (a)")
        made.execute("INSERT INTO t VALUES (7)")
        made.commit()
    with databases.open(f"sqlite:///{path}", workers=2, max_rows=20_000, max_steps=2**31 - 1) as opened:
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


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """A cluster of Debian's PostgreSQL on a socket in a folder, as an ordinary user; as the reader of its database."""
    import psycopg

    from toolenvs.databases.postgres.role import reader

    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "the tests of this backend need PostgreSQL: apt-get install postgresql"
    programs = found[-1].parent
    as_user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="toolenvs-postgres-"))  # not pytest's: the other user has to reach it
    if as_user:
        shutil.chown(folder, "postgres", "postgres")
    made = ["-D", str(folder / "data"), "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run([programs / "initdb", *made], check=True, capture_output=True, cwd="/", **as_user)
    settings = {"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off", "max_connections": "20"}
    settings["autovacuum"] = "off"  # plans, and with them the order of rows, change with what it finds out
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", str(folder / "data"), *options], stdout=log, stderr=log, cwd="/", **as_user
        )
    try:
        while not (folder / ".s.PGSQL.5432").exists():
            assert server.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        _fill_postgres(psycopg, reader, str(folder))
        yield f"postgresql://reader@/music?host={folder}"
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown
        server.wait()
        shutil.rmtree(folder)


def _fill_postgres(psycopg: Any, reader: Any, folder: str) -> None:
    for _ in range(600):  # the socket is there before the server answers
        try:
            owner = psycopg.connect(f"postgresql://owner@/postgres?host={folder}", autocommit=True)
            break
        except psycopg.OperationalError:
            time.sleep(0.1)
    owner.execute("CREATE DATABASE music")
    owner.close()
    with psycopg.connect(f"postgresql://owner@/music?host={folder}", autocommit=True) as owner:
        for table in _TABLES:
            owner.execute(table)
        for name, rows in _ROWS.items():
            with owner.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
        owner.execute("ANALYZE")
        for statement in reader("reader", "music"):
            owner.execute(statement)


@pytest.fixture(scope="session")
def postgres(postgres_address: str) -> Iterator[Database]:
    with databases.open(postgres_address, workers=1, timeout_s=TIMEOUT_S) as opened:
        yield opened
