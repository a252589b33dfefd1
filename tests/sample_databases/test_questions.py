"""Questions over the databases with a name: enough kinds of them, right, in English, with golds to judge by."""

import asyncio
import pickle
import re
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest

from toolenvs import load as load_page
from toolenvs import sample_databases, tasks
from toolenvs.agents.scripted import Oracle
from toolenvs.errors import TaskError
from toolenvs.rewards.sql import Boundary, Suite, outline
from toolenvs.rollout.collect import collect
from toolenvs.sample_databases import questions
from toolenvs.tasks.generated import generator_names
from toolenvs.tasks.sql import Asker, Drawn
from toolenvs.tasks.sql.wording import a, count_of, number, several
from toolenvs.tasks.task import Task

KEPT = {"chinook": 180, "nycflights13": 40, "tzdata": 180} | ({"debian": 40} if shutil.which("apt-get") else {})
"""How many questions of each are looked at; there are more. Of the large databases fewer, which take seconds."""
ORDER = (" first.", ", ordered by ", " first;")
_drawn: dict[str, list[Task]] = {}


def drawn(name: str) -> list[Task]:
    """Different questions, each from the beginning of the set."""
    if name not in _drawn:
        found: dict[str, Task] = {}
        for task in tasks.load(f"{name}_sql", size=10_000):
            found.setdefault(task.question, task)
            if len(found) == KEPT[name]:
                break
        _drawn[name] = list(found.values())
    return _drawn[name]


@pytest.fixture(scope="module")
def suites(cache: object) -> Iterator[dict[str, Suite]]:
    """With four copies, as pages have it; of the flights one, since changing them takes seconds."""
    made = {}
    for name, copies in {"chinook": 4, "debian": 4, "nycflights13": 1, "tzdata": 4}.items():
        path, entry = sample_databases.named_file(name), questions.find(name)
        assert path is not None
        assert entry is not None
        plants = [
            Boundary(column.lower(), value) for (_, column), values in entry.thresholds.items() for value in values
        ]
        made[name] = Suite(path, copies=copies, plants=plants)
    yield made
    for suite in made.values():
        suite.close()


def test_there_are_enough_questions_of_every_kind() -> None:
    assert sum(len(drawn(name)) for name in KEPT) == sum(KEPT.values()) >= 400
    kinds = Counter(task.extra["template"] for name in KEPT for task in drawn(name))
    assert len(kinds) >= 40
    for name in KEPT:
        entry = questions.find(name)
        assert entry is not None
        levels = {template.__name__: level for level, listed in enumerate(entry.levels, start=1) for template in listed}
        found = {task.extra["template"] for task in drawn(name)}
        missing = set(levels) - found  # some seldom have an answer
        assert len(missing) <= (2 if KEPT[name] > 100 else 12), missing
        assert all(task.extra["level"] == levels[task.extra["template"]] for task in drawn(name))


def test_every_gold_can_be_judged_by(name: str, suites: dict[str, Suite]) -> None:
    assert {task.gold: why for task in drawn(name) if (why := suites[name].check(task.gold))} == {}


def test_golds_are_right_and_the_next_ones_are_not(name: str, suites: dict[str, Suite]) -> None:
    golds = [task.gold for task in drawn(name)][::4]

    async def judged(said: list[str]) -> list[bool]:
        return [(await suites[name].judge(gold, one)).equal for gold, one in zip(golds, said, strict=True)]

    assert all(asyncio.run(judged(golds)))
    assert sum(asyncio.run(judged([*golds[1:], golds[0]]))) <= len(golds) // 20


def test_an_order_is_asked_for_where_the_query_orders(name: str) -> None:
    for task in drawn(name):
        ordered = outline(task.gold).ordered and not task.gold.endswith(" LIMIT 1")
        columns = task.extra["template"] in ("span", "reach")  # these say which column comes first
        assert task.extra["ordered"] == ordered
        assert columns or any(words in task.question for words in ORDER) == ordered, task.question


def test_answers_are_no_zeros_and_not_too_long(name: str, suites: dict[str, Suite]) -> None:
    for task in drawn(name):
        rows = suites[name].database().query(task.gold).rows
        assert 1 <= len(rows) <= 20
        assert len(set(rows)) == len(rows)
        assert rows != ((0,),), task.question


def faults(text: str) -> list[str]:
    """What is wrong with the English of a question, as far as patterns tell."""
    plain = re.sub(r'"[^"]*"', '"X"', text)
    wrong = {
        "article": r"\ba (?!one\b|uni|use)[aeiou]\w*|\ban (?!hour)[^aeiou\W]\w*",
        "plural of one": r"(?<!January )\b1 (?!was\b|is\b)[a-z]+s\b",
        "singular of several": r"\b(?:[2-9]|\d{2,}|two|three|four|five) (?:track|album|zone|seat|mile|package)\b",
        "twice": r"\b([a-z]+) \1\b",
        "blanks": r"\s\s|\s[?.,;:]|^\s|\s$|\n",
        "placeholder": r"[{}]|\bNone\b|\bNULL\b",
        "countable": r"\bless than [\d,]+ (?:tracks|albums|seats|inhabitants|bytes|kilobytes|milliseconds)\b",
        "uncountable": r"\bfewer than [-\d.,]+ (?:degrees|dollars|feet|metres)\b",
        "end": r"[^?.]$",
        "beginning": r"^[^A-Z]",
    }
    return [f"{what}: {found[0]!r}" for what, pattern in wrong.items() if (found := re.search(pattern, plain))]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("How many towns have a elevation of 5?", "article"),
        ("How many towns have an year?", "article"),
        ("Which hold at least 1 tracks?", "plural of one"),
        ("Which hold at least 3 track?", "singular of several"),
        ("Which of the the towns?", "twice"),
        ("Which towns  are there?", "blanks"),
        ("Which towns ?", "blanks"),
        ("Which {towns}?", "placeholder"),
        ("Which have less than 5 seats?", "countable"),
        ("Which have fewer than 5 degrees?", "uncountable"),
        ("Give the towns", "end"),
        ("give the towns.", "beginning"),
        ("How many left on January 1 and spent an hour in a unit of the track \"a a an elf\"?", ""),
    ],
)  # fmt: skip
def test_the_patterns_find_faults(text: str, wrong: str) -> None:
    assert [found.partition(":")[0] for found in faults(text)] == ([wrong] if wrong else [])


def test_questions_are_english(name: str) -> None:
    assert {task.question: found for task in drawn(name) if (found := faults(task.question))} == {}
    assert all(task.extra["evidence"] not in task.question or not task.extra["evidence"] for task in drawn(name))


def test_the_worlds_questions_are_english() -> None:
    found = {task.question: wrong for task in tasks.load("world_sql", size=400) if (wrong := faults(task.question))}
    assert found == {}


def test_words() -> None:
    assert [a(noun) for noun in ("town", "elevation", "hour", "unit", "user", "album", "umbrella")] == [
        "a town", "an elevation", "an hour", "a unit", "a user", "an album", "an umbrella",
    ]  # fmt: skip
    assert [count_of(n, "city", "cities") for n in (0, 1, 2, 1_000)] == [
        "0 cities",
        "1 city",
        "2 cities",
        "1,000 cities",
    ]
    assert [several(word) for word in ("name", "city", "day", "code")] == ["names", "cities", "days", "codes"]
    assert [number(1900, "year"), number(1900), number(-40), number(0.5)] == ["1900", "1,900", "-40", "0.5"]


def test_sets_are_reproducible_and_their_splits_disjoint(name: str) -> None:
    first = tasks.load(f"{name}_sql", size=40, seed=4)
    again = pickle.loads(pickle.dumps(first))
    assert list(first) == list(again)
    test = {task.question for task in tasks.load(f"{name}_sql", split="test", size=10)}
    assert not test & {task.question for task in drawn(name)}
    assert {task.extra["database"] for task in first} == {name}


def test_levels(name: str) -> None:
    easy = tasks.load(f"{name}_sql", size=20, max_level=1)
    assert all(" JOIN " not in task.gold and task.extra["level"] == 1 for task in easy)
    assert {task.extra["level"] for task in tasks.load(f"{name}_sql", size=8, min_level=3)} == {3}
    for options, message in (
        ({"min_level": 0}, "min_level is 0; give 1 to 3"),
        ({"min_level": 2, "max_level": 1}, "max_level is 1; give 2 to 3"),
        ({"max_level": True}, "max_level is True"),
    ):
        with pytest.raises(TaskError, match=f"{name}_sql: {message}"):
            tasks.load(f"{name}_sql", **options)


@pytest.mark.usefixtures("small_index")
def test_few_rows_can_be_asked_about_too() -> None:
    found = list(tasks.load("debian_sql", size=30))
    assert len({task.extra["template"] for task in found}) >= 8
    path = sample_databases.named_file("debian")
    assert path is not None
    with Suite(path, copies=0) as suite:
        assert [why for task in found if (why := suite.check(task.gold))] == []


def test_every_database_has_questions() -> None:
    assert {f"{name}_sql" for name in sample_databases.names()} <= set(generator_names())
    assert questions.find("northwind") is None


async def test_the_oracle_answers_on_the_page(name: str) -> None:
    page = load_page("SQL-v0", set=f"{name}_sql", judge={"copies": 1})
    task = page.tasks[0]
    trajectories = await collect(page, Oracle(page), [task])
    assert [trajectory.reward for trajectory in trajectories] == [1.0]
    prompt = trajectories[0].transcript.segments[0].text
    assert "CREATE TABLE" in prompt
    assert task.question in prompt
    assert task.extra["evidence"] in prompt


@pytest.fixture
def keeping() -> Asker:
    path, other = sample_databases.named_file("tzdata"), sample_databases.shifted_file("tzdata")
    assert path is not None
    assert other is not None
    return Asker(None, (), path, other, zeros=False)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT name FROM zone ORDER BY latitude DESC LIMIT 2", 2),
        ("SELECT region FROM zone", 0),  # too many, and alike
        ("SELECT name FROM zone WHERE latitude > 90", 0),
        ("SELECT count(*) FROM zone WHERE latitude > 90", 0),
        ("SELECT comments FROM zone WHERE name = 'Europe/Paris'", 0),  # NULL
        ("SELECT 7", 0),  # whatever the data are
        ("SELECT name FROM zone ORDER BY offset_minutes DESC LIMIT 3", 0),  # a tie
        ("SELECT name FROM zone WHERE region = 'Europe' ORDER BY comments LIMIT 2", 0),  # NULL comes first
        ("SELECT name FROM zone ORDER BY printf('%d',latitude*1000) LIMIT 1", 0),  # numbers as text
        ("SELECT region, sum(latitude) FROM zone GROUP BY region ORDER BY sum(latitude) DESC LIMIT 2", 2),
    ],
)
def test_what_is_kept(keeping: Asker, sql: str, rows: int) -> None:
    assert keeping.rows(Drawn("?", sql)) == rows
