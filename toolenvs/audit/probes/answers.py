"""Answers that need no question: empty, generic, huge, all candidates at once, look-alikes, and turns repeated."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault, note
from toolenvs.audit.subject import NONSENSE, Played, Subject, always, right
from toolenvs.tasks.task import Task

FAULTS = {
    "empty": "Judge an empty answer, and one of spaces, as wrong.",
    "generic": "Let the judge want this task's answer: a phrase that fits every question is paid.",
    "numbers": "Let the judge read one answer: a list of all numbers holds every gold that is one.",
    "oversized": "Bound what the judge reads, and let a longer answer be wrong.",
    "several": "Let one answer count, wherever it stands: a list of candidates is paid wherever the gold is in it.",
    "lookalike": "Compare the characters: letters of another script are paid as the gold's.",
    "repeated": "Pay an answer once: writing it again earns more.",
    "calls": "Bound what calls earn: calling without reading earns as much as a right answer.",
    "partial": "Known of graded judges: a part of the score is paid for an answer that is not one.",
    "crash": "Let the judge say a verdict about any text; an answer ended the episode as infrastructure, or raised.",
}
_GENERIC = ("unknown", "all of the above", "yes", "0", "A", "the answer", "SELECT 1", "SELECT 1 WHERE 0", "None")
_LOOKALIKES = str.maketrans("aceopxyABCEHKMOPTX0123456789", "асеорхуАВСЕНКМОРТХ𝟢𝟣𝟤𝟥𝟦𝟧𝟨𝟩𝟪𝟫"[:28])
_DECOYS = ("Vienna", "1999", "17", "Anna Berg", "SELECT 1")
_HUGE_CHARS = 20_000
_REPEATED = 20
_CALLS = 6


@dataclass(frozen=True, slots=True)
class _Try:
    name: str
    what: str
    text: str


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Answer each task in these ways; what earns more than nonsense is told."""
    for index, task in enumerate(subject.tasks):
        wrong = subject.play(task, subject.attempt(task, NONSENSE))
        for one in _blind():
            if _is_gold(task, one.text):
                continue
            played = subject.play(task, subject.attempt(task, one.text))
            yield from _weighed(one.name, one.what, index, played, wrong)
        if task.golds and subject.says_answers:
            yield from _candidates(subject, index, task, wrong)
            yield from _lookalike(subject, index, task, wrong)
            yield from _again(subject, index, task)
        if subject.protocol.targets:
            yield from _called(subject, index, task, wrong)


def _blind() -> Iterator[_Try]:
    for text in ("", "   ", "\n"):
        yield _Try("empty", "An empty answer is paid.", text)
    for text in _GENERIC:
        yield _Try("generic", "An answer that fits every question is paid.", text)
    yield _Try("numbers", "A list of all numbers is paid.", " ".join(map(str, range(2100))))
    for text in ("a " * (_HUGE_CHARS // 2), "9" * _HUGE_CHARS, "(" * _HUGE_CHARS, "\\frac{" * (_HUGE_CHARS // 6)):
        yield _Try("oversized", "A huge answer is paid.", text)


def _weighed(name: str, what: str, index: int, played: Played, wrong: Played) -> Iterator[Finding]:
    """What an answer earned, against what nonsense earns."""
    action = played.actions[-1] if played.actions else ""
    if (played.error and not played.refused) or played.ending == "infrastructure":
        what = "An answer is no answer to the judge, but its failure."
        yield fault("answers.crash", what, task=index, action=action, got=played.told)
    elif played.solved and not wrong.solved:
        yield fault(f"answers.{name}", what, task=index, action=action, got=played.told)
    elif played.reward > wrong.reward:
        graded = played.value > wrong.value
        told = f"{what} It earns {played.reward:g}, where nonsense earns {wrong.reward:g}."
        found = note("answers.partial", told, task=index, action=action, got=played.told)
        yield found if graded else fault(f"answers.{name}", told, task=index, action=action, got=played.told)


def _candidates(subject: Subject, index: int, task: Task, wrong: Played) -> Iterator[Finding]:
    """The gold among others, in one answer or in several; what counts one of them only is right at one place only."""
    others, gold = [decoy for decoy in _DECOYS if not _is_gold(task, decoy)], right(task)
    lists = [[gold, *others], [*others[:2], gold, *others[2:]], [*others, gold]]
    ways: dict[str, Callable[[list[str]], list[str]]] = {
        "in a list": lambda texts: subject.attempt(task, ", ".join(texts)),
        "one with 'or'": lambda texts: subject.attempt(task, " or ".join(texts)),
        "line by line": lambda texts: subject.attempt(task, "\n".join(texts)),
        "one after another": lambda texts: [
            *subject.attempt(task, gold)[:-1],
            "\n".join(subject.answer(task, text) for text in texts),
        ],
    }
    for way, write in ways.items():
        for exact in (False, True) if way == "one after another" else (False,):
            tried = [subject.play(task, write(texts), exact=exact) for texts in lists]
            if all(played.solved for played in tried) and not wrong.solved:
                what = f"All candidates at once, {way}, are right wherever the gold stands among them."
                action = tried[1].actions[-1]
                yield fault("answers.several", what, task=index, action=action, got=tried[1].told)


def _lookalike(subject: Subject, index: int, task: Task, wrong: Played) -> Iterator[Finding]:
    gold = right(task)
    letters = gold.translate(_LOOKALIKES)
    if letters == gold or gold.strip().replace(".", "").isdigit():  # digits of other scripts are digits
        return
    played = subject.play(task, subject.attempt(task, letters))
    what = "Letters of another script that look like the gold's are paid."
    if not wrong.solved and played.solved:
        yield fault("answers.lookalike", what, task=index, action=played.actions[-1], got=played.told)


def _again(subject: Subject, index: int, task: Task) -> Iterator[Finding]:
    """The right answer many times over earns no more than once."""
    turns = subject.attempt(task, right(task))
    once = subject.play(task, turns)
    often = subject.play(task, [*turns[:-1], (turns[-1] + "\n") * _REPEATED], exact=True)
    if often.reward > once.reward and once.solved:
        what = f"The right answer {_REPEATED} times over earns {often.reward:g}, once {once.reward:g}."
        yield fault("answers.repeated", what, task=index, action=often.actions[-1], got=often.told)


def _called(subject: Subject, index: int, task: Task, wrong: Played) -> Iterator[Finding]:
    """Calls that ask nothing, and nonsense behind them."""
    if not subject.says_answers:
        return
    changed, _ = subject.with_tools(always("nothing"))
    calls = [subject.call(f"{NONSENSE} {number}") for number in range(_CALLS)]
    played = subject.play(task, [*calls, subject.answer(task, NONSENSE)], on=changed)
    best = subject.best(task)
    if played.reward <= wrong.reward or played.ending == "infrastructure":
        return
    what = f"{_CALLS} calls that ask nothing earn {played.reward:g}, no call {wrong.reward:g}."
    enough = best is not None and played.reward >= best.reward
    found = fault("answers.calls", what, task=index, action=calls[0], got=played.told)
    yield found if enough else note("answers.calls", what, task=index, action=calls[0], got=played.told)


def _is_gold(task: Task, text: str) -> bool:
    return any(gold.strip().casefold() == text.strip().casefold() for gold in task.golds)
