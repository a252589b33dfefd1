"""The same task, seed and actions twice, in another process whose strings hash otherwise, and in forks."""

import warnings
from collections.abc import Iterator
from typing import Any

from toolenvs import loop
from toolenvs.audit.again import SEED, Other, record
from toolenvs.audit.finding import Finding, fault
from toolenvs.audit.subject import NONSENSE, PROGRAM, Subject
from toolenvs.episode import Episode
from toolenvs.errors import ToolenvsError

FAULTS = {
    "twice": "Draw from the seed that `open` is given, and keep nothing between episodes.",
    "process": "Sort what comes out of sets, and use no `hash()` of strings, no clock and no address.",
    "fork": "Let a fork have all of the session's state: it went on otherwise than the original.",
    "shared": "Let a fork share nothing that calls change: what it did, the original saw.",
}

_CALLS = 3
"""Turns that a fork is looked at for, the one before it included."""


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Play the task's solution, and a call that finds nothing with a wrong answer, again and elsewhere."""
    for index, task in enumerate(subject.tasks):
        solved = subject.solution(task)
        courses = [list(solved.actions)] if solved is not None else []
        if index == 0 or solved is None:
            calls = [subject.call(PROGRAM)] if subject.protocol.targets else []
            courses.append([*calls, *calls, subject.answer(task, NONSENSE)])
        for actions in courses:
            first = record(subject.blueprint, index, actions)
            again = record(subject.blueprint, index, actions)
            if first != again:
                what = "The same seed and actions gave something else in the same process."
                yield fault("determinism.twice", what, task=index, action=actions[0], got=_differs(first, again))
                continue
            there = other.record(subject.source, subject.overrides, index, actions)
            if first != there:
                what = "The same seed and actions gave something else in another process."
                yield fault("determinism.process", what, task=index, action=actions[0], got=_differs(first, there))
        if index == 0 and subject.protocol.targets:
            longest = max(courses, key=len)
            yield from loop.run(_forked(subject, index, longest if len(longest) > _CALLS else longest[:1] * _CALLS))


async def _forked(subject: Subject, index: int, actions: list[str]) -> list[Finding]:
    """Two forks behind the first turn: the one goes on as the original, the other does something else before."""
    episode = Episode(subject.blueprint, subject.tasks[index], seed=SEED)
    opened, found = [episode], []
    try:
        await episode.step(actions[0])
        if episode.ending is not None:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # calls that are run again
            opened += [await episode.fork(), await episode.fork()]
        strayed = subject.call(PROGRAM) if subject.protocol.targets else NONSENSE
        ahead = [await _on(opened[1], action) for action in actions[1:]]
        for _ in range(2):
            await _on(opened[2], strayed)
        own = [await _on(episode, action) for action in actions[1:]]
        if own != ahead:
            straight = record(subject.blueprint, index, actions)[2:]
            name = "fork" if [one[1] for one in own if one] == [one[0] for one in straight] else "shared"
            what = {"fork": "A fork went on otherwise.", "shared": "What a fork did changed the original."}[name]
            found.append(fault(f"determinism.{name}", what, task=index, action=actions[1], got=_differs(ahead, own)))
    except ToolenvsError as error:
        found.append(fault("determinism.fork", "A fork failed.", task=index, action=actions[0], got=str(error)))
    finally:
        for one in opened:
            await one.close()
    return found


async def _on(episode: Episode, action: str) -> Any:
    if episode.ending is not None:
        return None
    turn = await episode.step(action)
    return [[call.result for call in turn.calls], turn.observation, repr(turn.reward), turn.ending]


def _differs(one: list[Any], two: list[Any]) -> str:
    """The first thing that is not the same."""
    for number, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return f"turn {number}: {a!r:.100} and {b!r:.100}"
    return f"{len(one)} and {len(two)} turns"
