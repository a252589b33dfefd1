"""How many wrong queries the SQL judge accepts, and whether it refuses right ones.

    python benchmarks/sql_judge.py [--sets world_sql chinook_sql] [--golds 150] [--out FILE]

Gold queries of the task sets are changed by one small step each (`sql_mutants.py`). A changed query counts as wrong
where its result differs from the gold's on some generated state of the database (`sql_states.py`), which is larger than
the source and none of those that the judge looks at. Of these, the share that is accepted by each way to compare is
told; the other forms of the golds (`sql_rewrites.py`) have to be accepted, all of them.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import random
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sql_mutants import Values, mutants
from sql_rewrites import Facts, rewrites
from sql_states import grow
from sqlglot import exp, parse_one

from toolenvs.databases.sources import made
from toolenvs.rewards.sql import Boundary, Suite, Table, bird_ex, compare, order_of, planted
from toolenvs.rewards.sql.golds import luck
from toolenvs.tasks.seeding import Draws
from toolenvs.world.sql import THRESHOLDS

FACTORS = (2.0, 3.0, 1.5, 2.5, 5.0)
"""Rows of each state, as a multiple of the source's."""
MAX_STEPS = 3_000_000
BAR = 0.6


class TooLong(Exception):
    """A query did more than a state is worth."""


@dataclass
class Gold:
    """One task's query, with its forms."""

    sql: str
    ordered: bool
    template: str
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Kind and query, proven by a state."""
    right: list[tuple[str, str]] = field(default_factory=list)


class State:
    """A database that queries run on, without the judge's help."""

    def __init__(self, path: Path) -> None:
        self._base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        self._known: dict[str, tuple[Table, Any, bool]] = {}

    def run(self, sql: str) -> Table:
        """The result; a query that fails has a status."""
        ticks = [0]

        def tick() -> bool:
            ticks[0] += 1
            return ticks[0] > MAX_STEPS // 10_000

        self._base.set_progress_handler(tick, 10_000)
        try:
            cursor = self._base.execute(sql)
            rows = cursor.fetchmany(100_000)
            return Table(tuple(column[0] for column in cursor.description), tuple(rows))
        except sqlite3.Error as error:
            return Table(status="timeout" if "interrupt" in str(error) else "error")

    def differs(self, gold: Gold, sql: str) -> bool | None:
        """Whether a query gives another answer than the gold; None where this state cannot tell."""
        if gold.sql not in self._known:
            result = self.run(gold.sql)
            usable = result.status == "ok" and luck(gold.sql, result, self.run) is None
            order = order_of(gold.sql, result, self.run) if gold.ordered and usable else None
            self._known[gold.sql] = (result, order, usable)
        result, order, usable = self._known[gold.sql]
        if not usable:
            return None
        said = self.run(sql)
        return None if said.status == "timeout" else not compare(result, said, order=order).equal


def golds_of(name: str, count: int) -> tuple[Path, list[Gold]]:
    """The database of a task set, and different golds of it, templates in turn."""
    make = importlib.import_module(f"toolenvs.tasks.generators.{name}").make()
    by_template: dict[str, dict[str, Gold]] = defaultdict(dict)
    database = ""
    for number in range(40 * count):
        problem = make(Draws("benchmark", number))
        gold = Gold(problem.answer, bool(problem.extra["ordered"]), str(problem.extra["template"]))
        database = str(problem.extra["database"])
        by_template[gold.template].setdefault(gold.sql, gold)
        if sum(map(len, by_template.values())) >= 4 * count:
            break
    path = made(database) or importlib.import_module("toolenvs.sample_databases").named_file(database)
    queues = [list(found.values()) for _, found in sorted(by_template.items())]
    turns = [queue[turn] for turn in range(4 * count) for queue in queues if turn < len(queue)]
    return path, turns[:count]


def facts_of(path: Path) -> tuple[Facts, Values]:
    """What the schema declares, and some values of every column."""
    keys, unique, not_null, whole, values = {}, set(), set(), set(), {}
    with contextlib.closing(sqlite3.connect(path)) as base:
        for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
            info = base.execute(f'PRAGMA table_info("{name}")').fetchall()
            table = name.lower()
            primary = [column[1] for column in info if column[5]]
            if len(primary) == 1:
                keys[table] = primary[0].lower()
                unique.add((table, primary[0].lower()))
            for index in base.execute(f'PRAGMA index_list("{name}")').fetchall():
                found = base.execute(f'PRAGMA index_info("{index[1]}")').fetchall()
                if index[2] and len(found) == 1:
                    unique.add((table, found[0][2].lower()))
            for column in info:
                label = (table, column[1].lower())
                if column[3] or column[5]:
                    not_null.add(label)
                if "INT" in column[2].upper():
                    whole.add(label)
                told = f'SELECT DISTINCT "{column[1]}" FROM "{name}" WHERE "{column[1]}" IS NOT NULL LIMIT 40'
                values[label] = [value for (value,) in base.execute(told)]
    return Facts(keys, frozenset(unique), frozenset(not_null), frozenset(whole)), values


def constants(sqls: Sequence[str]) -> set[Any]:
    """The constants that queries name."""
    found: set[Any] = set()
    for sql in sqls:
        for literal in parse_one(sql, dialect="sqlite").find_all(exp.Literal):
            found.add(literal.name if literal.is_string else float(literal.name))
    return {int(one) if isinstance(one, float) and one == int(one) else one for one in found}


def write_states(source: Path, folder: Path, golds: Sequence[Gold], count: int) -> list[State]:
    """Generated states of a database."""
    wanted = constants([gold.sql for gold in golds])
    states = []
    for number in range(count):
        path = folder / f"{source.stem}-state-{number}.sqlite"
        grow(source, path, seed=number, factor=FACTORS[number % len(FACTORS)], wanted=wanted)
        states.append(State(path))
    return states


def prepare(source: Path, golds: Sequence[Gold], folder: Path, *, states: int, wrong: int, right: int) -> Counter[str]:
    """Fill in the wrong and right forms of the golds; what was left out, by why."""
    made_states = write_states(source, folder, golds, states)
    facts, values = facts_of(source)
    left_out: Counter[str] = Counter()
    for gold in golds:
        draws = random.Random(gold.sql)
        candidates = mutants(gold.sql, values)
        draws.shuffle(candidates)
        for one in candidates:
            if len(gold.wrong) == wrong:
                break
            told: list[bool | None] = []
            while len(told) < len(made_states) and not any(told):
                told.append(made_states[len(told)].differs(gold, one.sql))
            if any(told):
                gold.wrong.append((one.kind, one.sql))
            else:
                left_out["no state tells it from its gold" if False in told else "no state can tell"] += 1
        other = rewrites(gold.sql, facts)
        draws.shuffle(other)
        for form in other[:right]:
            if any(state.differs(gold, form.sql) for state in made_states):
                left_out[f"rewriting differs: {form.sql} FOR {gold.sql}"] += 1
            else:
                gold.right.append((form.kind, form.sql))
    return left_out


@dataclass
class Figures:
    """What was accepted, of how many."""

    wrong: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    """By the way to compare."""
    by_kind: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    let_through: list[tuple[str, str, str]] = field(default_factory=list)
    right: int = 0
    refused: list[tuple[str, str, str, str]] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Accepted by the careful judge over accepted by comparing sets."""
        return self.accepted["careful, copies"] / max(self.accepted["set"], 1)


def plants_of(source: Path, golds: Sequence[Gold]) -> Sequence[Boundary]:
    """What a page's judge plants for tasks that are made as they are drawn, where there is a list of it; else what it
    plants for tasks from a file."""
    if source.stem.startswith("world-"):
        return [Boundary(column, value) for (_, column), values in THRESHOLDS.items() for value in values]
    return planted([gold.sql for gold in golds])


async def judge(source: Path, golds: Sequence[Gold], figures: Figures) -> None:
    """Judge all forms of the golds of one database."""
    with Suite(source, plants=plants_of(source, golds)) as suite, Suite(source, copies=0) as alone:
        for gold in golds:
            for kind, sql in gold.wrong:
                pair = await suite.outcomes(gold.sql, sql)
                verdicts = {
                    "set": bird_ex(*pair) == 1,
                    "careful": bool(await alone.judge(gold.sql, sql, ordered=gold.ordered)),
                    "careful, copies": bool(await suite.judge(gold.sql, sql, ordered=gold.ordered)),
                }
                figures.wrong += 1
                figures.by_kind[kind]["all"] += 1
                for way, accepted in verdicts.items():
                    figures.accepted[way] += accepted
                    figures.by_kind[kind][way] += accepted
                if verdicts["careful, copies"]:
                    figures.let_through.append((kind, gold.sql, sql))
            for kind, sql in gold.right:
                figures.right += 1
                found = await suite.judge(gold.sql, sql, ordered=gold.ordered)
                if not found:
                    figures.refused.append((kind, found.reason, gold.sql, sql))


def lines(figures: Figures) -> Iterator[str]:
    """A table of them."""
    ways = ("set", "careful", "careful, copies")
    yield "| change | wrong queries | " + " | ".join(f"accepted: {way}" for way in ways) + " |"
    yield "|---" * 5 + "|"
    rows = [*sorted(figures.by_kind.items()), ("all", Counter({"all": figures.wrong, **figures.accepted}))]
    for kind, counts in rows:
        total = counts["all"]
        shares = " | ".join(f"{counts[way]} ({100 * counts[way] / total:.1f} %)" for way in ways)
        yield f"| {kind} | {total} | {shares} |"
    yield ""
    yield f"accepted with copies over set: {figures.ratio:.3f}; bar at most {BAR}"
    yield f"right rewritings refused: {len(figures.refused)} of {figures.right}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["world_sql", "chinook_sql"])
    parser.add_argument("--golds", type=int, default=150, help="of each set")
    parser.add_argument("--wrong", type=int, default=8, help="wrong queries of each gold, at most")
    parser.add_argument("--right", type=int, default=6, help="rewritings of each gold, at most")
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="list what was let through")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    whole = {}
    for name in arguments.sets:
        started_s = time.process_time()
        source, golds = golds_of(name, arguments.golds)
        with tempfile.TemporaryDirectory() as folder:
            left_out = prepare(
                source, golds, Path(folder), states=arguments.states, wrong=arguments.wrong, right=arguments.right
            )
        prepared_s = time.process_time()
        figures = Figures()
        asyncio.run(judge(source, golds, figures))
        print(f"\n## {name}: {len(golds)} golds of {len({gold.template for gold in golds})} templates, {source.stem}\n")
        print("\n".join(lines(figures)))
        for why, count in left_out.most_common():
            print(f"left out: {count}: {why}")
        for kind, why, gold_sql, sql in figures.refused:
            print(f"REFUSED ({kind}, {why}): {sql}\n    for {gold_sql}")
        if arguments.verbose:
            for kind, gold_sql, sql in figures.let_through:
                print(f"let through ({kind}): {sql}\n    for {gold_sql}")
        print(f"CPU: {prepared_s - started_s:.0f} s to prepare, {time.process_time() - prepared_s:.0f} s to judge")
        whole[name] = {
            "wrong": figures.wrong, "accepted": dict(figures.accepted), "ratio": figures.ratio, "right": figures.right,
            "refused": figures.refused, "by_kind": {kind: dict(c) for kind, c in figures.by_kind.items()},
        }  # fmt: skip
    if arguments.out:
        arguments.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
