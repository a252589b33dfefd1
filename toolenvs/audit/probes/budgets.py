"""Budgets that do not bind: calls hidden in a turn or past the last one, endless episodes, turns that cost too much."""

import time
from collections.abc import Iterator
from itertools import pairwise

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault
from toolenvs.audit.subject import NONSENSE, Subject, always
from toolenvs.tasks.task import Task

FAULTS = {
    "hidden": "Run one call a turn, and count each that runs.",
    "past": "Count calls where they run, and run none once the budget is spent.",
    "endless": "Set budget.max_turns: nothing else ends an episode whose turns do nothing.",
    "observation": "Bound observations: a tool's text is longer than the page's limit.",
    "slow": "Read a turn in time that grows with it: this one took far longer than its length says.",
    "crash": "Let any text be a turn: this one raised.",
}
_MOST_TURNS = 300
"""Turns after which an episode counts as endless, where the page has no limit of its own."""
_HIDDEN = 4
_LONG_CHARS = 40_000
_CPU_S = 1.0
"""CPU time that a turn of that many characters may cost; reading one takes some hundredths."""
_TRIES = 2
"""Other threads of the process count in its CPU time: a turn that cost too much once may not have."""


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Play turns of many calls, calls without end, and turns of nothing, tags and noise."""
    task = subject.tasks[0]
    if subject.protocol.targets:
        yield from _hidden(subject, task)
        yield from _past(subject, task)
        yield from _shown(subject, task)
    yield from _endless(subject, task)
    yield from _hostile(subject, task)


def _hidden(subject: Subject, task: Task) -> Iterator[Finding]:
    for exact in (False, True):
        changed, ran = subject.with_tools(always("nothing"))
        turn = "\n".join(subject.call(f"{NONSENSE} {number}") for number in range(_HIDDEN))
        played = subject.play(task, [turn], on=changed, exact=exact)
        counted = int(played.episode.usage()["calls"].used)
        if ran() > 1 or counted != ran():
            what = f"One turn ran {ran()} calls, and the budget counted {counted}."
            yield fault("budgets.hidden", what, task=0, action=turn, got=played.told)


def _past(subject: Subject, task: Task) -> Iterator[Finding]:
    limits = subject.page.budget
    changed, ran = subject.with_tools(always("nothing"))
    played = subject.play(task, [subject.call(f"{NONSENSE} {n}") for n in range(_most(subject))], on=changed)
    allowed = [limit for limit in (limits.max_calls, limits.max_turns) if limit is not None]
    per_tool = limits.max_calls_per_tool.get(subject.protocol.targets[0][0])
    most = min([*allowed, *([] if per_tool is None else [per_tool])], default=None)
    if most is not None and ran() > most:
        what = f"{ran()} calls ran, where the page allows {most}."
        yield fault("budgets.past", what, task=0, action=played.actions[-1], got=played.told)
    if played.ending is None and not played.error:
        yield fault("budgets.endless", "Calls never end the episode.", task=0, action=played.actions[-1])


def _shown(subject: Subject, task: Task) -> Iterator[Finding]:
    """Texts of a tool that are longer than its space, and than the page's own limit."""
    most, limits = subject.page.spaces.observation_length, subject.page.budget
    own = limits.max_observation_chars
    for length in (2 * most, *(() if own is None else (2 * own + len(limits.ellipsis) + 1,))):
        changed, _ = subject.with_tools(always("x" * length))
        played = subject.play(task, [subject.call(NONSENSE)], on=changed)
        for turn in played.turns:
            shown = sum(len(part.text) for part in turn.segments if part.verbatim)
            if own is not None and shown > own + len(limits.ellipsis):
                what = f"{shown} characters of a tool's text are shown, of {own} at most."
                yield fault("budgets.observation", what, task=0, got=played.told)
            if len(turn.observation) > most:
                what = f"An observation has {len(turn.observation)} characters; the space holds {most}."
                yield fault("budgets.observation", what, task=0, got=played.told)


def _endless(subject: Subject, task: Task) -> Iterator[Finding]:
    changed, _ = subject.with_tools(always("nothing"))
    for action in ("", "Let me think.", *_unfinished(subject)):
        played = subject.play(task, [action] * _most(subject), on=changed)
        if played.error and not played.refused:
            yield fault("budgets.crash", "A turn raised.", task=0, action=action, got=played.told)
        elif played.ending is None:
            what = f"{len(played.turns)} turns did nothing, and the episode goes on."
            yield fault("budgets.endless", what, task=0, action=action, got=played.told)


def _hostile(subject: Subject, task: Task) -> Iterator[Finding]:
    changed, _ = subject.with_tools(always("nothing"))
    marks = [mark for mark in (*subject.protocol.markers, *_unfinished(subject)) if len(mark) > 1]
    pairs = [opening + closing for opening, closing in pairwise(marks)]
    for piece in dict.fromkeys([*marks, *pairs, "\x00", "é", "("]):
        turn = piece * (_LONG_CHARS // len(piece))
        for _ in range(_TRIES):
            started_s = time.process_time()
            played = subject.play(task, [turn], on=changed, exact=True)
            spent_s = time.process_time() - started_s
            if spent_s <= _CPU_S:
                break
        else:
            what = f"A turn of {len(turn)} characters cost {spent_s:.1f} s of CPU time."
            yield fault("budgets.slow", what, task=0, action=turn, got=played.told)
            return  # the others may cost as much
        if played.error and not played.refused:
            yield fault("budgets.crash", "A turn raised.", task=0, action=turn, got=played.told)


def _unfinished(subject: Subject) -> list[str]:
    """Calls that end too early, and one inside another."""
    if not subject.protocol.targets:
        return []
    call = subject.call(NONSENSE)
    start = call.find(NONSENSE)
    return [call[:start], call[:start] + call, call[start:]]


def _most(subject: Subject) -> int:
    most = subject.page.budget.max_turns
    return _MOST_TURNS if most is None else min(most + 3, _MOST_TURNS)
