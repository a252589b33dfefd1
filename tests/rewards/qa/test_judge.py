"""The judge of a page: metrics by name, graded scores, golds."""

import pytest

from toolenvs.rewards.judges.qa import Judge, Options
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.terms import outcome
from toolenvs.rewards.verdict import Verdict
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author, Segment, Transcript


def moment(answer: str | None, *golds: str, verdict: Verdict | None = None) -> Moment:
    said = Transcript((Segment(Author.PROMPT, "q"), Segment(Author.POLICY, f"so {answer}", 1)))
    task = Task(id="t", question="q", golds=golds)
    return Moment(
        task=task,
        transcript=said,
        answer=answer,
        said=(f"so {answer}",),
        ending="answer",
        calls=0,
        malformed=False,
        verdict=verdict,
    )


@pytest.mark.parametrize(
    ("metric", "correct", "score"),
    [
        ("careful", False, None),
        ("em", False, None),
        ("sub_em", True, None),
        ("f1", False, 0.8),
        ("cover_em", True, None),
    ],
)
async def test_metrics_by_name(metric: str, correct: bool, score: float | None) -> None:
    verdict = await Judge(Options(metric=metric))(moment("New York City", "Boston", "New York"))
    assert (verdict.correct, verdict.score) == (correct, score)


async def test_what_is_read() -> None:
    assert (await Judge(Options())(moment("Paris", "paris"))).correct
    assert not (await Judge(Options(reads="response"))(moment("Paris", "paris"))).correct
    assert not (await Judge(Options())(moment(None, "paris"))).correct
    assert (await Judge(Options())(moment("Paris", ""))).failed
    assert (await Judge(Options(metric="em"))(moment("Paris", " "))).failed
    assert Judge(Options()).compare("7", "seven").correct


async def test_a_graded_verdict_earns_its_part() -> None:
    verdict = await Judge(Options(metric="f1"))(moment("New York City", "New York"))
    judged = moment("New York City", "New York", verdict=verdict)
    assert outcome.Term(outcome.Options(wrong=-1.0, graded=True))(judged) == pytest.approx(0.6)
    assert outcome.Term(outcome.Options(wrong=-1.0))(judged) == -1
    assert (await Judge(Options(metric="f1"))(moment("", "x"))).value == 0
