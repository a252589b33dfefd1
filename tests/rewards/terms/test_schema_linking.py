"""The reward for reading what the gold reads."""

from collections.abc import Mapping
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.databases.parsing import MAX_CHARS
from toolenvs.episode import Episode
from toolenvs.errors import JudgeError, MissingExtraError, PageError
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.ran import Ran
from toolenvs.rewards.terms.schema_linking import Options, Term
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.task import Task
from toolenvs.transcript import Transcript

GOLD = "SELECT name FROM place WHERE population > 200000"


def paid(said: str | None, gold: str = GOLD, verdict: Verdict | None = None, **options: Any) -> float:
    task = Task(id="t", question="q", golds=(gold,), extra={"database": "world:1000"})
    moment = Moment(
        task=task,
        transcript=Transcript(()),
        answer=said,
        said=(),
        ending="answer",
        calls=0,
        malformed=False,
        verdict=verdict or Ran(False, Reason.MISMATCH if said else Reason.NO_ANSWER, said),
    )
    return loop.run(Term(Options(**options))(moment))


@pytest.mark.parametrize(
    ("said", "recall", "f1"),
    [
        (GOLD, 1, 1),
        ("SELECT population FROM place ORDER BY name", 1, 1),
        ("SELECT name FROM place", 0.75, (1 + 2 / 3) / 2),
        ("SELECT p.name, c.name FROM place p, country c WHERE p.population > 1", 1, (2 / 3 + 4 / 5) / 2),
        ("SELECT name FROM country", 0, 0),
        ("SELECT * FROM place", 0.5, 0.5),
        ("SELECT * FROM place, country, person, company, work, event", 0.5, (2 / 7) / 2),
        ("SELECT 1", 0, 0),
        ("SELECT name FROM", 0, 0),
        ("population", 0, 0),
        ("SELECT " + "(" * 5000, 0, 0),
        ("SELECT 1" + " " * MAX_CHARS, 0, 0),
        (None, 0, 0),
    ],
)
def test_rewards(said: str | None, recall: float, f1: float) -> None:
    assert paid(said, measure="recall") == pytest.approx(recall)
    assert paid(said) == pytest.approx(f1)


def test_the_share_of_the_columns() -> None:
    assert paid("SELECT name FROM place", measure="recall", columns=0) == 1
    assert paid("SELECT name FROM place", measure="recall", columns=1) == 0.5
    with pytest.raises(ValueError, match="columns is 2; it is a share"):
        Options(columns=2)


def test_a_gold_that_cannot_be_parsed_is_no_zero() -> None:
    with pytest.raises(JudgeError, match="its gold cannot be parsed"):
        paid(GOLD, gold="SELECT FROM FROM")


def test_it_needs_a_judge_of_queries_and_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PageError, match="needs the judge 'sql'"):
        paid(GOLD, verdict=Verdict(True, Reason.MATCH))
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[sql\]"):
        Term(Options())


def test_a_page_pays_it_beside_the_outcome() -> None:
    reward: list[Mapping[str, Any]] = [{"term": "outcome"}, {"term": "schema_linking", "weight": 0.2}]
    env = toolenvs.load("SQL-v0", reward=reward)
    task = env.tasks[0]
    for answer, expected in ((task.gold, 1.2), ("SELECT 1", 0.0)):
        episode = Episode(env, task)
        assert loop.run(episode.step(f"<solution>{answer}</solution>")).reward == pytest.approx(expected)
