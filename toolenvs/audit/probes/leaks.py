"""The gold answer where the policy reads it before it has asked for anything."""

import re
from collections.abc import Iterator

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault, note
from toolenvs.audit.subject import NONSENSE, Subject
from toolenvs.episode import Episode, Turn
from toolenvs.info import info
from toolenvs.tasks.task import Task

FAULTS = {
    "prompt": "Take the gold out of what stands around the question: the page's prompt, or a `context` of its parts.",
    "question": "Mend the rows: a question that holds its answer teaches to copy.",
    "info": "Give tasks ids that say nothing of their answers; info is read by agents and shown in logs.",
    "unasked": "Let the tool answer what it was asked: a call that asks nothing was shown the gold.",
    "reminder": "Let reminders and notes say nothing of the task.",
}
_LEAST_CHARS = 3
"""Of a gold that is looked for: a shorter one stands anywhere by chance."""


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Look for each task's gold in its prompt, in `info`, and in what answers a turn that asks for nothing."""
    tasks = [(index, task) for index, task in enumerate(subject.tasks) if task.golds]
    asked = [(index, task) for index, task in tasks if _stands(task, task.question)]
    for index, task in asked:
        found = (fault if len(asked) > 1 and 2 * len(asked) > len(tasks) else note)(
            "leaks.question", "The question holds the gold answer.", task=index, got=task.question
        )
        yield found
    for index, task in tasks:
        prompt = subject.blueprint.render_prompt(task)
        if _leaks(subject, task, prompt):
            yield fault("leaks.prompt", "The prompt holds the gold answer.", task=index, got=_around(task, prompt))
        if _leaks(subject, task, _info(subject, task)):
            yield fault("leaks.info", "info holds the gold answer while the episode runs.", task=index, got=task.id)
        for name, action in _asks_nothing(subject):
            played = subject.play(task, [action])
            text = "".join(turn.observation for turn in played.turns)
            if _leaks(subject, task, text):
                yield fault(
                    f"leaks.{name}", "An observation holds the gold answer.", task=index, action=action, got=text
                )


def _asks_nothing(subject: Subject) -> Iterator[tuple[str, str]]:
    yield "reminder", "Let me think."
    if subject.protocol.targets:
        yield "unasked", subject.call(NONSENSE)


def _info(subject: Subject, task: Task) -> str:
    """All of `info` right after reset that is not the prompt."""
    episode = Episode(subject.blueprint, task)
    told = info(episode, Turn(observation=episode.prompt))
    return repr({key: value for key, value in told.items() if key not in ("messages", "transcript")})


def _leaks(subject: Subject, task: Task, text: str) -> bool:
    """Whether the text holds the task's gold, and would hold it for no other reason that is at hand."""
    text = text.replace(task.question, "")
    return _stands(task, text) and not _stands(task, subject.blank_prompt)


def _stands(task: Task, text: str) -> bool:
    golds = [gold.strip() for gold in task.golds if len(gold.strip()) >= _LEAST_CHARS]
    return any(re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", text, re.IGNORECASE) for gold in golds)


def _around(task: Task, text: str) -> str:
    start = text.casefold().find(task.gold.casefold())
    return text[max(start - 60, 0) : start + len(task.gold) + 60]
