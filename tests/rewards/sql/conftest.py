"""A small shop, as a SQLite file: keys, references, unique pairs, a trigger, a view, NULLs and blobs."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

SCHEMA = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, people INTEGER, area REAL);
CREATE TABLE customer (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, city_id INTEGER NOT NULL REFERENCES city (id), born INTEGER,
    mail TEXT, photo BLOB);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer, day TEXT, price REAL CHECK (price >= 0),
    kind TEXT, cents INTEGER GENERATED ALWAYS AS (CAST(price * 100 AS INTEGER)) STORED);
CREATE TABLE friends (a INTEGER REFERENCES customer, b INTEGER REFERENCES customer, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE likes (customer_id INTEGER REFERENCES customer (id), kind TEXT, UNIQUE (customer_id, kind));
CREATE TABLE log (line TEXT);
CREATE TRIGGER noted AFTER UPDATE ON purchase BEGIN INSERT INTO log VALUES ('changed'); END;
CREATE VIEW dear AS SELECT * FROM purchase WHERE price > 50;
"""
KINDS = ("book", "lamp", "chair", "pen")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        base.executemany(
            "INSERT INTO city VALUES (?, ?, ?, ?)", [(n, f"Town {n}", 1_000 * n + 7, n * 1.5) for n in range(1, 13)]
        )
        base.executemany(
            "INSERT INTO customer VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    n, f"Name {n % 37}", n % 12 + 1, 1940 + n * 7 % 60, None if n % 5 == 0 else f"n{n}@x.test",
                    bytes([n, 255]),
                )
                for n in range(1, 91)
            ],
        )  # fmt: skip
        base.executemany(
            "INSERT INTO purchase (id, customer_id, day, price, kind) VALUES (?, ?, ?, ?, ?)",
            [
                (n, n * n % 90 + 1, f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}", n * 37 % 200 / 2, KINDS[n * n % 7 % 4])
                for n in range(1, 401)
            ],
        )
        base.executemany("INSERT INTO friends VALUES (?, ?)", [(n, n % 90 + 1) for n in range(1, 91)])
        base.executemany("INSERT INTO likes VALUES (?, ?)", [(n % 90 + 1, KINDS[n // 90]) for n in range(200)])
        base.commit()
    return path
