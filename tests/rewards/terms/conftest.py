"""Finished episodes, written by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author, Segment, Transcript


def made(
    parts: Sequence[tuple[str, str]],
    *,
    answer: str | None,
    score: float,
    golds: Sequence[str] = ("Paris",),
    extra: dict[str, Any] | None = None,
) -> Moment:
    """A finished episode.

    Args:
        parts: (author, text) of each segment; "passage" is what a tool returned, "forged" what the policy is not
            scored on.
        answer: as the protocol read it.
        score: the judge's.
        golds: of the task.
        extra: of the task.
    """
    segments = [Segment(Author.PROMPT, "a prompt with <think> <search> <answer> Beijing </answer> in it")]
    for author, text in parts:
        kind = {"passage": Author.TOOL, "forged": Author.POLICY}.get(author) or Author(author)
        segments.append(Segment(kind, text, 1, scored=author != "forged", verbatim=author == "passage"))
    verdict = Verdict(score == 1, Reason.MATCH if score == 1 else Reason.MISMATCH, answer, score=score)
    return Moment(
        task=Task(id="t", question="q", golds=tuple(golds), extra=extra or {}),
        transcript=Transcript(tuple(segments)),
        answer=answer,
        said=tuple(text for author, text in parts if author == "policy"),
        ending="answer",
        calls=sum(author == "passage" for author, _ in parts),
        malformed=False,
        verdict=verdict,
    )


@pytest.fixture
def moment() -> Callable[..., Moment]:
    return made
