"""The clock of SQLite stands, whether it is stopped or functions have to be replaced, and no result tells which."""

import json
import subprocess
import sys

_PROGRAM = """
import json, sqlite3, sys
from toolenvs.databases.sqlite import clock, functions
if sys.argv[1] == "replaced":
    clock.stopped = lambda: False
found = []
connections = [sqlite3.connect(":memory:", isolation_level=None) for _ in range(2)]
both = [functions.Functions(connection) for connection in connections]
expressions = json.loads(sys.argv[2])
for now in ("2025-01-31 23:59:59.5", "0000-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2025-13-45 00:00:00"):
    for connection, own, moment in zip(connections, both, (now, "1999-09-09 09:09:09")):
        own.start(0, moment, 100_000)
        found += [repr(connection.execute(f"SELECT {one}").fetchall()) for one in expressions]
    both[0].start(0, now, 100_000)
    found.append(repr(connections[0].execute("SELECT datetime('now')").fetchall()))
print(json.dumps([clock.stopped(), found]))
"""
_EXPRESSIONS = [
    "date('now')", "time('NOW')", "datetime('now', '-1 month')", "julianday('no' || 'w')", "strftime('%f')",
    "strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%s', 'now', 'start of year', 'weekday 1')", "date()",
    "datetime()", "julianday()", "strftime('%J', 'now')", "current_date", "current_time", "current_timestamp",
    "datetime('now', 'localtime')", "datetime('now', 'utc')", "date('2024-02-29', '+1 year')", "time('12:34')",
    "datetime(0, 'unixepoch')", "date(NULL)", "date('x')", "strftime('%d', '2025-01-32')", "strftime('%Y', NULL)",
    "strftime('%w %j %W %%', '2025-06-15 01:02:03')", "datetime('now') = datetime('now')", "strftime('%%')",
    "date(2460676.5)", "date(x'3230323530313031')",
    "(SELECT group_concat(date('now', column1 || ' days')) FROM (VALUES (1), (2), (-400)))",
]  # fmt: skip


def _outcome(how: str) -> tuple[bool, list[str]]:
    command = [sys.executable, "-I", "-c", _PROGRAM, how, json.dumps(_EXPRESSIONS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={"TZ": "UTC"})
    stopped, found = json.loads(ran.stdout)
    return stopped, found


def test_a_stopped_clock_and_replaced_functions_give_the_same() -> None:
    (_, native), (stopped, ours) = _outcome("as it can be"), _outcome("replaced")
    assert not stopped
    count = len(_EXPRESSIONS)
    for place, (first, second) in enumerate(zip(native, ours, strict=True)):
        assert first == second, _EXPRESSIONS[place % (2 * count + 1) % count]
    assert native[0] == "[('2025-01-31',)]"
    assert native[count] == "[('1999-09-09',)]"
    assert native[2 * count] == "[('2025-01-31 23:59:59',)]"
