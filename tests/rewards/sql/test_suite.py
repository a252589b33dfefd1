"""Judging by queries that run: golds that cannot be judged by, wrong queries that happen to agree, and right ones."""

import asyncio
import contextlib
import hashlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs.databases.pool import Pool
from toolenvs.errors import JudgeError
from toolenvs.rewards.sql import Table, bird_ex, check_gold, order_of
from toolenvs.rewards.sql import suite as suites
from toolenvs.rewards.sql.suite import Suite, planted

GOLDS = {
    "over": "SELECT name FROM city WHERE people > 5007",
    "between": "SELECT count(*) FROM customer WHERE born BETWEEN 1950 AND 1960",
    "join": "SELECT c.name, count(*) FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.id",
    "top": "SELECT name FROM city ORDER BY people DESC LIMIT 3",
    "mean": "SELECT kind, avg(price) FROM purchase GROUP BY kind ORDER BY kind",
    "mail": "SELECT count(mail) FROM customer",
    "friends": "SELECT count(*) FROM friends f JOIN customer a ON a.id = f.a WHERE a.born > 1970",
}


@pytest.fixture(scope="module")
def suite(shop: Path) -> Iterator[Suite]:
    with Suite(shop, plants=planted(list(GOLDS.values())), max_steps=5_000_000) as made:
        yield made


def verdict(suite: Suite, gold: str, said: str, **options: bool) -> str:
    return asyncio.run(suite.judge(gold, said, **options)).reason


@pytest.mark.parametrize("name", GOLDS)
def test_golds_that_can_be_judged_by(suite: Suite, name: str) -> None:
    assert suite.check(GOLDS[name]) is None
    assert verdict(suite, GOLDS[name], GOLDS[name]) == "match"


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("over", "SELECT c.name AS town FROM city AS c WHERE NOT c.people <= 5007"),
        ("between", "SELECT sum(born >= 1950 AND born <= 1960) FROM customer"),
        ("join", "SELECT max(c.name), sum(1) FROM purchase p, customer c WHERE c.id = p.customer_id GROUP BY c.id"),
        (
            "top",
            "SELECT name FROM city a WHERE (SELECT count(*) FROM city b WHERE b.people > a.people) < 3 "
            "ORDER BY people DESC",
        ),
        ("mean", "SELECT kind, sum(price) / count(price) FROM purchase GROUP BY kind ORDER BY 1"),
        ("mean", "SELECT avg(price) AS m, kind FROM purchase GROUP BY kind ORDER BY kind"),
        ("mail", "SELECT count(*) FROM customer WHERE mail IS NOT NULL"),
        ("friends", "SELECT count(*) FROM customer a JOIN friends ON a = a.id WHERE born >= 1971"),
    ],
)  # fmt: skip
def test_right_queries_are_right(suite: Suite, gold: str, said: str) -> None:
    assert verdict(suite, GOLDS[gold], said) == "match"


@pytest.mark.parametrize(
    ("gold", "said", "reason"),
    [
        ("over", "SELECT name FROM city WHERE people >= 5007", "8 rows for 7"),
        ("over", "SELECT name FROM city WHERE people > 5500", ""),  # nobody lies between
        ("over", "SELECT name FROM city WHERE id > 5", ""),
        ("over", "SELECT name FROM city WHERE area > 7.5", ""),
        ("between", "SELECT count(*) FROM customer WHERE born > 1950 AND born < 1960", "rows"),
        ("top", "SELECT name FROM city ORDER BY id DESC LIMIT 3", ""),
        ("top", "SELECT name FROM city ORDER BY people LIMIT 3", "rows"),
        ("top", "SELECT name FROM city WHERE id > 9 ORDER BY id DESC", ""),
        ("top", "SELECT name FROM city WHERE id > 9 ORDER BY id", "order"),
        ("mail", "SELECT 72", ""),
        ("mail", "SELECT count(*) * 4 / 5 FROM customer", ""),
        ("mean", "SELECT kind, avg(price) FROM purchase GROUP BY kind ORDER BY kind DESC", "order"),
        ("mail", "SELECT count(nothing) FROM customer", "error"),
        ("mail", "DELETE FROM customer", "refused"),
        ("mail", "EXPLAIN QUERY PLAN SELECT 1", "refused"),
        ("mail", "SELECT count(mail) FROM customer; SELECT 1", "refused"),
        ("mail", "", "refused"),
        ("mail", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "timeout"),
    ],
)
def test_wrong_queries_are_wrong(suite: Suite, gold: str, said: str, reason: str) -> None:
    found = verdict(suite, GOLDS[gold], said)
    if reason:
        assert found == reason
    else:  # it agrees on the data as given, and only a changed copy tells
        assert "on changed copy" in found


@pytest.mark.parametrize("long", [False, True])
def test_with_golds_that_are_known_one_message_tells_the_same(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """Right, right in another order, other columns, wrong at once, wrong on a copy only, no query."""
    frames = 0
    aexchange = Pool.aexchange

    async def counted(self: Pool, frame: bytes, timeout_s: float) -> object:
        nonlocal frames
        frames += 1
        return await aexchange(self, frame, timeout_s)

    monkeypatch.setattr(Pool, "aexchange", counted)
    monkeypatch.setattr(suites, "_LONG_STEPS", -1 if long else 10**9)
    for gold, said, least, messages in (
        ("over", "SELECT name FROM city WHERE people > 5007", "match", 1),
        ("over", "SELECT name FROM city WHERE people > 5007 ORDER BY name DESC", "match", 2),
        ("mean", "SELECT avg(price) AS m, kind FROM purchase GROUP BY kind ORDER BY kind", "match", 2),
        ("top", "SELECT name FROM city ORDER BY people LIMIT 3", "rows", 1),
        ("over", "SELECT name FROM city WHERE people > 5500", "on changed copy", 1),
        ("mail", "DELETE FROM customer", "refused", 1),
    ):
        reasons = []
        for known in (False, True):
            suite._verdicts.clear()
            suite._golds.clear()
            if known:
                asyncio.run(suite._gold(GOLDS[gold], -1))
                asyncio.run(suite._golds_of_copies(GOLDS[gold]))
            before = frames
            reasons.append(verdict(suite, GOLDS[gold], said + " " * (1 + known + 2 * long)))
            if known and not long:
                assert frames == before + messages
        assert reasons[0] == reasons[1]
        assert least in reasons[0]


def test_a_right_query_may_look_at_every_pair_of_rows(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "many.sqlite")) as base:
        base.execute("CREATE TABLE many (id INTEGER PRIMARY KEY, size INTEGER NOT NULL)")
        base.executemany("INSERT INTO many VALUES (?, ?)", [(n, n * 7919 % 10_007) for n in range(1, 2_501)])
        base.commit()
    with Suite(tmp_path / "many.sqlite", copies=0) as made:
        slow = "SELECT id FROM many AS o WHERE (SELECT count(*) FROM many AS i WHERE i.size > o.size) < 2"
        gold = "SELECT id FROM many ORDER BY size DESC LIMIT 2"
        assert verdict(made, gold, slow, ordered=False) == "match"
        assert made.database().query(slow).steps > 20_000_000  # of the default for tools


def test_agreement_that_only_copies_end(shop: Path, suite: Suite) -> None:
    gold, said = GOLDS["over"], "SELECT name FROM city WHERE people > 5500"
    assert bird_ex(*asyncio.run(suite.outcomes(gold, said))) == 1
    with Suite(shop, copies=0) as alone:
        assert verdict(alone, gold, said) == "match"


def test_the_question_may_say_whether_order_counts(suite: Suite) -> None:
    reverse = "SELECT kind, avg(price) FROM purchase GROUP BY kind ORDER BY kind DESC"
    assert verdict(suite, GOLDS["mean"], reverse, ordered=False) == "match"
    assert verdict(suite, "SELECT id FROM city", "SELECT id FROM city ORDER BY id DESC") == "match"
    assert verdict(suite, "SELECT id FROM city", "SELECT id FROM city ORDER BY id DESC", ordered=True) == "order"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT colour FROM city", r"its gold query fails \(error: .*no such column"),
        ("DELETE FROM city", r"its gold query fails \(refused"),
        ("SELECT name FROM city WHERE people < 0", "finds nothing: no rows"),
        ("SELECT max(people) FROM city WHERE people < 0", "finds nothing but NULL"),
        ("SELECT name FROM city LIMIT 3", "has a LIMIT and no order"),
        ("SELECT kind, id FROM purchase ORDER BY kind LIMIT 3", "between two that tie"),
        ("SELECT id FROM purchase ORDER BY kind LIMIT 3", "between two that tie"),
        ("SELECT id FROM customer ORDER BY mail LIMIT 18", "sorts NULL among the first rows"),
        ("SELECT id FROM city ORDER BY CAST(id AS TEXT) LIMIT 3", "numbers that are stored as text"),
        ("SELECT 1", "the same on each of 4 changed copies: it does not discriminate"),
        ("SELECT id FROM city ORDER BY random() LIMIT 3", "draws at random"),
        ("SELECT a.id FROM purchase a, purchase b", r"gives more rows than are compared \(20000\)"),
    ],
)
def test_golds_that_cannot_be_judged_by(suite: Suite, sql: str, reason: str) -> None:
    found = suite.check(sql)
    assert re.search(reason, str(found)), found


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT DISTINCT kind FROM purchase",
        "SELECT count(DISTINCT kind) FROM purchase",
        "SELECT max(people) - min(people) FROM city, customer",
        "SELECT max(born) FROM customer",
        "SELECT min(day) FROM purchase",
        "SELECT kind FROM likes GROUP BY kind",
    ],
)
def test_golds_over_the_values_that_there_are(suite: Suite, gold: str) -> None:
    assert suite.check(gold) is None


def test_an_aggregate_has_one_row_whatever_its_limit(suite: Suite) -> None:
    assert suite.check("SELECT count(*) FROM city LIMIT 1") is None


@pytest.mark.parametrize(
    ("sql", "lucky"),
    [
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 1", False),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 2", True),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 1 OFFSET 1", True),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 1, 1", True),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 1 OFFSET 2", True),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 2 OFFSET 1", False),
        ("SELECT name FROM seen ORDER BY age DESC LIMIT 1 OFFSET 3", False),
        ("SELECT name FROM seen ORDER BY age LIMIT 1 OFFSET 1", True),  # behind a NULL
        ("SELECT name FROM seen ORDER BY age LIMIT 20", False),  # all of them
        ("SELECT name FROM seen ORDER BY age NULLS FIRST LIMIT 1 OFFSET 1", False),  # as was said
        ("SELECT age FROM seen ORDER BY age DESC LIMIT 2", False),  # the same, whichever of the two it is of
        ("SELECT name FROM seen WHERE age = (SELECT max(age) FROM seen) LIMIT 1", False),  # there is one
        ("SELECT name FROM seen WHERE age = (SELECT max(age) FROM seen WHERE age < 90) LIMIT 1", True),
        ("SELECT age FROM seen WHERE age = 80 LIMIT 1", False),
    ],
)
def test_luck_at_both_ends_of_a_limit(tmp_path: Path, sql: str, lucky: bool) -> None:
    path = tmp_path / "seen.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE seen (name TEXT, age INTEGER)")
        base.executemany("INSERT INTO seen VALUES (?, ?)", zip("abcdef", (90, 80, 80, 70, 60, None), strict=True))
        base.commit()
    with Suite(path, copies=0) as alone:
        assert (alone.check(sql) is not None) is lucky


@pytest.mark.parametrize("condition", ["people >= 0", "people <> 0", "name || '' != ''", "people > 1e-5"])
def test_ties_may_swap_whatever_the_query_holds(suite: Suite, condition: str) -> None:
    gold = f"SELECT name FROM city WHERE {condition} ORDER BY id % 2"
    assert verdict(suite, gold, f"{gold}, id DESC") == "match"
    assert verdict(suite, gold, gold.replace("id % 2", "id DESC")) == "order"
    assert suite.check(f"{gold} LIMIT 2") == "its gold query cuts its rows between two that tie"


@pytest.mark.parametrize(
    ("gold", "ties"),
    [
        ("SELECT name FROM who ORDER BY name", "id DESC"),
        ("SELECT id, note FROM who ORDER BY note COLLATE NOCASE", "id DESC"),
        ("SELECT id, note AS n FROM who ORDER BY upper(n)", "id DESC"),
        ("SELECT name, count(*) AS n FROM who GROUP BY id ORDER BY n, max(age) > 20", "id DESC"),
        ("SELECT id, age % 3 FROM who ORDER BY 2, name", "id DESC"),
        ("SELECT o.name, w.name FROM who o JOIN who w ON w.id = o.boss ORDER BY w.name", "o.id DESC"),
        ("SELECT o.name, w.name FROM who o JOIN who w ON w.id = o.boss ORDER BY o.name", "o.id DESC"),
        ("SELECT age AS name, name AS age FROM who ORDER BY name", "id DESC"),
        ("SELECT DISTINCT id, name FROM who ORDER BY age % 4", "id DESC"),
        ("SELECT * FROM who ORDER BY 2", "id DESC"),
        ("SELECT name, id FROM who UNION ALL SELECT note, id FROM who ORDER BY name", "2 DESC"),
        ("SELECT boss, avg(third) AS m FROM who GROUP BY age, boss ORDER BY m * 3, age", "boss DESC"),
    ],
)
def test_what_ties_the_engine_knows(tmp_path: Path, gold: str, ties: str) -> None:
    path = tmp_path / "who.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute(
            "CREATE TABLE who "
            "(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, note TEXT, age INTEGER, boss INTEGER, third REAL)"
        )
        base.executemany(
            "INSERT INTO who VALUES (?, ?, ?, ?, ?, ?)",
            [
                (n, ("Ann", "ann", "Bob", "BOB")[n % 4], "xXyY"[n % 3], 15 + n % 7, n % 5 + 1, 1 / 3)
                for n in range(1, 41)
            ],
        )
        base.commit()
    with Suite(path, copies=2) as who:
        assert verdict(who, gold, gold) == "match"
        assert verdict(who, gold, f"{gold}, {ties}") == "match"
        assert verdict(who, gold, f"SELECT * FROM ({gold}) ORDER BY random()") in ("order", "rows")
        assert who.check(f"{gold} LIMIT 3") == "its gold query cuts its rows between two that tie"


def test_a_gold_that_fails_is_the_judges_fault(suite: Suite) -> None:
    with pytest.raises(JudgeError, match=r"the gold query fails on shop\.sqlite: .*colour"):
        verdict(suite, "SELECT colour FROM city", "SELECT 1")


def test_ties_on_what_is_not_shown_may_swap(shop: Path) -> None:
    with contextlib.closing(sqlite3.connect(shop)) as base:

        def run(sql: str) -> Table:
            cursor = base.execute(sql)
            return Table(tuple(column[0] for column in cursor.description), tuple(cursor.fetchall()))

        sql = "SELECT id FROM customer ORDER BY born, 1 = 1"
        labels = order_of(sql, run(sql), run)
        assert labels is not None
        assert len(set(labels)) == len({year for (year,) in base.execute("SELECT born FROM customer")})
        assert order_of("SELECT id FROM customer", run("SELECT id FROM customer"), run) is None
        settled = "SELECT DISTINCT id FROM customer ORDER BY born, 1 = 1"
        assert order_of(settled, run(settled), run) == labels
        strict = "SELECT DISTINCT kind FROM purchase ORDER BY day"  # which day of a kind?
        assert order_of(strict, run(strict), run) == list(range(3))
        assert check_gold("SELECT id FROM customer", run) is None


def test_copies_are_kept_where_they_are_wanted_and_nothing_is_changed(shop: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(shop.read_bytes()).hexdigest()
    for _ in range(2):
        with Suite(shop, copies=2, folder=tmp_path) as made:
            assert made.check(GOLDS["mail"]) is None
            assert verdict(made, GOLDS["mail"], "DROP TABLE city") == "refused"
        assert len(list(tmp_path.iterdir())) == 2
    assert hashlib.sha256(shop.read_bytes()).hexdigest() == before


def test_a_text_may_be_the_name_of_another_tables_column(suite: Suite) -> None:
    gold = 'SELECT count(*) FROM city WHERE name <> "mail"'
    assert suite.check(gold) is None
    assert suite.strict(gold) == gold.replace('"', "'")
    for sql in (
        'SELECT "mail" FROM customer WHERE "name" > "x"',
        'SELECT "t"."mail" FROM "customer" t WHERE name > "x"',
    ):
        assert suite.strict(sql) == sql.replace('"x"', "'x'")


def test_golds_may_have_texts_in_double_quotes(suite: Suite) -> None:
    gold = 'SELECT count(*) FROM purchase WHERE "kind" = "lamp"'
    assert suite.check(gold) is None
    assert verdict(suite, gold, "SELECT count(*) FROM purchase WHERE kind = 'lamp'") == "match"
    assert verdict(suite, gold, gold) == "error"  # a misspelt name would be a text as well
    assert bird_ex(*asyncio.run(suite.outcomes(gold, gold))) == 1  # as published
