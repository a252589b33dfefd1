"""Another state of a database: the same schema and the same values, in other rows.

It tells questions whose answer does not depend on the data, and costs one statement a column. What a policy is judged
on are the changed copies of `toolenvs.rewards.sql`, which have rows on the boundaries of the questions too.
"""

import sqlite3
from pathlib import Path

_EVERY = 7
"""One row in so many is left out; references to it then lead nowhere."""


def shift(source: Path, target: sqlite3.Connection) -> None:
    """Fill `target`, inside whatever transaction it is in, with another state of the database `source`.

    In each table, the values of every column that is no key and not unique move on by a third of the rows, each column
    by one row more than the one before, so that rows are taken apart.
    """
    target.execute("COMMIT")  # nothing can be attached within a transaction
    target.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
    target.execute("BEGIN")
    told = "SELECT name, sql FROM source.sqlite_schema WHERE type = 'table' ORDER BY rowid"
    names = target.execute(told).fetchall()
    for name, sql in names:
        target.execute(sql)
        _fill(target, name)
    indexes = "SELECT sql FROM source.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
    for (sql,) in target.execute(indexes).fetchall():
        target.execute(sql)
    target.execute("COMMIT")
    target.execute("DETACH source")
    target.execute("BEGIN")


def _fill(target: sqlite3.Connection, name: str) -> None:
    columns = target.execute(f'PRAGMA source.table_info("{name}")').fetchall()
    keys = {column[1] for column in columns if column[5]}
    for index in target.execute(f'PRAGMA source.index_list("{name}")').fetchall():
        if index[2]:
            keys |= {row[2] for row in target.execute(f'PRAGMA source.index_info("{index[1]}")')}
    count = target.execute(f'SELECT count(*) FROM source."{name}"').fetchone()[0]
    target.execute("CREATE TEMP TABLE numbered AS SELECT row_number() OVER (ORDER BY rowid) - 1 AS n, * "
                   f'FROM source."{name}"')  # fmt: skip
    target.execute("CREATE UNIQUE INDEX temp.by_number ON numbered (n)")
    chosen = []
    for place, column in enumerate(columns):
        shifted = f"(base.n + {count // 3 + place}) % {count}"
        other = f'(SELECT moved."{column[1]}" FROM numbered AS moved WHERE moved.n = {shifted})'
        chosen.append(f'base."{column[1]}"' if column[1] in keys else other)
    kept = f" WHERE base.n % {_EVERY} != 0"
    target.execute(f'INSERT INTO main."{name}" SELECT {", ".join(chosen)} FROM numbered AS base{kept} ORDER BY base.n')
    target.execute("DROP TABLE numbered")
