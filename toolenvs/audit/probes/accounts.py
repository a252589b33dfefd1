"""Rewards that do not add up, that are no numbers, and faults of the machinery that are paid as the policy's."""

import math
from collections.abc import Iterator
from dataclasses import replace

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault
from toolenvs.audit.subject import NONSENSE, PROGRAM, Played, Subject
from toolenvs.errors import InfrastructureError
from toolenvs.tasks.task import Task

FAULTS = {
    "number": "Let every term give a finite number.",
    "verdict": "Let a verdict have a score from 0 to 1, and be right for a score of 1 only.",
    "infrastructure": "Mend what fails: an ordinary episode ended as infrastructure, or raised.",
    "goldless": "Let the judge fail (JudgeError, TaskError) where it has nothing to judge by: it gave a verdict.",
    "blamed": "Let a tool's outage end the episode as infrastructure, without verdict and reward.",
    "overpaid": "Let no wrong episode earn as much as a right one.",
}

_SILENT_TURNS = 40
"""Empty turns that an episode is played for, where none of them ends it."""


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Play right, wrong and empty episodes, one without a gold, and one whose tool is out of order."""
    for index, task in enumerate(subject.tasks):
        calls = [subject.call(PROGRAM)] if subject.protocol.targets else []
        silence = [""] * min((subject.page.budget.max_turns or _SILENT_TURNS) + 2, _SILENT_TURNS)
        courses = [[*calls, subject.answer(task, NONSENSE)], silence, subject.attempt(task, "")]
        wrongs = [subject.play(task, actions) for actions in courses]
        solved = subject.solution(task)
        for played in [*wrongs, *([solved] if solved is not None else [])]:
            yield from _added(index, played)
        for wrong in wrongs:
            best = subject.best(task)
            if best is not None and best.solved and not wrong.value and wrong.reward >= best.reward:
                what = f"A wrong episode earns {wrong.reward:g}, the right one {best.reward:g}."
                yield fault("accounts.overpaid", what, task=index, action=wrong.actions[-1], got=wrong.told)
        if index == 0:
            yield from _without_gold(subject, task)
            yield from _outage(subject, task)


def _added(index: int, played: Played) -> Iterator[Finding]:
    action = played.actions[-1:] and played.actions[-1]
    if played.error or played.ending == "infrastructure":
        what = "An ordinary episode ended as infrastructure, or raised."
        yield fault("accounts.infrastructure", what, task=index, action=action, got=played.told)
        return
    for turn in played.turns:
        if not all(math.isfinite(value) for value in turn.reward_terms.values()):
            what = "A term of the reward is no finite number."
            yield fault("accounts.number", what, task=index, action=action, got=dict(turn.reward_terms))
    verdict = played.episode.verdict
    if verdict is not None and not 0 <= verdict.value <= 1:
        what = f"The judge's score is {verdict.value:g}."
        yield fault("accounts.verdict", what, task=index, action=action, got=played.told)
    elif verdict is not None and verdict.score is not None and verdict.correct and verdict.value < 1:
        what = f"The judge says right, and scores {verdict.value:g}."
        yield fault("accounts.verdict", what, task=index, action=action, got=played.told)


def _without_gold(subject: Subject, task: Task) -> Iterator[Finding]:
    """A task without what it is judged by can be neither right nor wrong."""
    if not task.golds or not subject.says_answers:
        return
    bare = replace(task, golds=(), extra={})
    try:
        turn = subject.answer(task, NONSENSE)
        played = subject.play(bare, [turn])
    except LookupError:
        return
    if played.episode.verdict is not None and not (subject.protocol.targets and played.ending is None):
        what = "A task without a gold is judged all the same."
        yield fault("accounts.goldless", what, task=0, action=turn, got=played.told)


def _outage(subject: Subject, task: Task) -> Iterator[Finding]:
    if not subject.protocol.targets:
        return

    for error in (InfrastructureError("the tool is out of order"), ConnectionError("refused")):

        def fail(arguments: object, error: Exception = error) -> str:
            raise error

        changed, _ = subject.with_tools(fail)
        turn = subject.call(NONSENSE)
        played = subject.play(task, [turn], on=changed)
        if played.ending != "infrastructure" or played.episode.success is not None or played.reward:
            what = "A tool's outage is the policy's failure."
            yield fault("accounts.blamed", what, task=0, action=turn, got=played.told)
