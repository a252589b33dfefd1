"""Tasks of one split in another, and tasks that stand in one twice."""

from collections.abc import Iterator

from toolenvs import page as pages
from toolenvs import tasks as task_sets
from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault, note
from toolenvs.audit.subject import Subject
from toolenvs.errors import ToolenvsError
from toolenvs.tasks.task import Task

FAULTS = {
    "shared": "Take the tasks out of one of the splits: what was trained on is no test.",
    "seed": "Take another seed for each split: the same world with other words is the same task.",
    "duplicate": "Drop duplicates, or know that they weigh more.",
    "contradiction": "Mend the rows: the same question has two golds.",
    "single": "Keep a split of your own for tests, where training uses this one.",
}
_SPLITS = ("train", "validation", "test")
_TASKS = 60
"""Tasks of a split that are compared, the first ones."""


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Compare the questions, golds and seeds of the splits' first tasks."""
    splits: dict[str, list[Task]] = {}
    for split in _SPLITS:
        try:
            options = dict(pages.load(subject.source, {**subject.overrides, "tasks.split": split}).tasks)
            options.pop("bad_golds", None)
            tasks = task_sets.load(options.pop("set"), **options)
            splits[split] = [tasks[index] for index in range(min(_TASKS, len(tasks)))]
        except ToolenvsError:  # a set that has no such split
            continue
    named = {split: {_key(task): index for index, task in enumerate(tasks)} for split, tasks in splits.items()}
    if len(named) < 2 or len({tuple(sorted(keys)) for keys in named.values()}) == 1:
        yield note("splits.single", "The task set is the same whatever split is asked for.")
        named = dict(list(named.items())[:1])
    yield from _across(named, splits)
    for split in named:
        yield from _within(split, splits[split])


def _across(named: dict[str, dict[str, int]], splits: dict[str, list[Task]]) -> Iterator[Finding]:
    pairs = [(one, two) for position, one in enumerate(named) for two in list(named)[position + 1 :]]
    for one, two in pairs:
        for key in sorted(named[one].keys() & named[two].keys()):
            what = f"A question of {one} is one of {two} as well."
            yield fault("splits.shared", what, task=named[one][key], got=splits[one][named[one][key]].question)
        seeds = [{_seed(task): task for task in splits[split] if _seed(task) is not None} for split in (one, two)]
        for seed in sorted(seeds[0].keys() & seeds[1].keys(), key=repr):
            what = f"Tasks of {one} and {two} have gold and seed in common."
            yield fault("splits.seed", what, got=f"{seeds[0][seed].id} and {seeds[1][seed].id}: {seed!r}")


def _within(split: str, tasks: list[Task]) -> Iterator[Finding]:
    seen: dict[str, Task] = {}
    for index, task in enumerate(tasks):
        first = seen.setdefault(_key(task), task)
        if first is task:
            continue
        if set(first.golds) != set(task.golds) and not _same_world(first, task):
            what = f"Two tasks of {split} ask the same, and have other golds."
            yield fault("splits.contradiction", what, task=index, got=f"{task.question} {first.golds} {task.golds}")
        else:
            yield note("splits.duplicate", f"A task of {split} stands there twice.", task=index, got=task.question)


def _same_world(one: Task, two: Task) -> bool:
    """Whether they may differ, as what they ask about does: each about a database or a page of its own."""
    return any(one.extra.get(key) != two.extra.get(key) for key in ("database", "db_id", "seed", "injection"))


def _key(task: Task) -> str:
    return " ".join(task.question.casefold().split())


def _seed(task: Task) -> tuple[str, tuple[str, ...], str] | None:
    """What tasks of the same world have in common; a file may call anything its seed."""
    seed = task.extra.get("seed")
    return None if seed is None else (repr(seed), task.golds, str(task.extra.get("page", "")))
