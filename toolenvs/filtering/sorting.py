"""What to keep and what to drop, how hard each task is, and what the report says of all of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.filtering.measuring import Counts
from toolenvs.tasks.task import Task

LABELS = ("unsolved", "hard", "medium", "easy", "always")
"""By the share of solved tries: none, up to a third, up to two thirds, more, all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which tasks are kept: those solved at `min_rate` to `max_rate` of their tries, both included."""

    min_rate: float = 0.0
    max_rate: float = 1.0
    solved_at: float = 1.0
    """Correctness from which a try counts as solved, for judges that grade."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_rate <= self.max_rate <= 1:
            raise ConfigError(
                f"rates from {self.min_rate:g} to {self.max_rate:g}: give two shares from 0 to 1, the lower one first"
            )
        if not 0 < self.solved_at <= 1:
            raise ConfigError(f"solved_at = {self.solved_at:g}: correctness is more than 0 and at most 1")

    def keeps(self, rate: float) -> bool:
        """Whether a task with that share of solved tries is kept."""
        return self.min_rate - _ROUNDING <= rate <= self.max_rate + _ROUNDING


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """The tasks of a set, in three lists that keep its order."""

    kept: list[Task] = field(default_factory=list)
    dropped: list[Task] = field(default_factory=list)
    unmeasured: list[Task] = field(default_factory=list)
    """Those that infrastructure kept from having all their tries: neither kept nor dropped."""
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is known of each measured task, by its id, as columns of its row."""


def label(solved: int, tries: int) -> str:
    """How hard a task is, one of `LABELS`."""
    if solved in (0, tries):
        return LABELS[0] if solved == 0 else LABELS[-1]
    return LABELS[1 if 3 * solved <= tries else 2 if 3 * solved <= 2 * tries else 3]


def sort(
    tasks: Sequence[Task], counts: Mapping[str, Counts], *, n: int, rule: Rule, closed_book: bool = False
) -> Sorted:
    """Keep and drop tasks by their tries.

    Args:
        tasks: all of them.
        counts: of each, by its id; see `measure`.
        n: tries that a task must have.
        rule: which are kept.
        closed_book: the tries were made without tools: their columns are called `closed_book_...`, and say nothing of
            how hard a task is with them.
    """
    done = Sorted()
    for task in tasks:
        count = counts.get(task.id, Counts())
        if len(count.tries) < n:
            done.unmeasured.append(task)
            continue
        solved = count.solved(rule.solved_at)
        known: dict[str, Any] = {"solved": solved, "tries": n, "pass_rate": solved / n}
        if closed_book:
            done.columns[task.id] = {f"closed_book_{key}": value for key, value in known.items()}
        else:
            done.columns[task.id] = {**known, "difficulty": label(solved, n)}
        (done.kept if rule.keeps(solved / n) else done.dropped).append(task)
    return done


def pass_at_k(solved: int, tries: int, k: int) -> float:
    """Chance that at least one of `k` tries solves a task, without bias, from `tries` of which `solved` did.

    1 - C(tries - solved, k) / C(tries, k); Chen et al., 2021 (arXiv:2107.03374), equation 1.

    Raises:
        ValueError: `k` is not from 1 to `tries`, or `solved` not from 0 to `tries`.
    """
    if not 1 <= k <= tries or not 0 <= solved <= tries:
        raise ValueError(f"pass@{k} cannot be told from {solved} of {tries} tries")
    return 1.0 - comb(tries - solved, k) / comb(tries, k)


def report(done: Sorted, counts: Mapping[str, Counts], *, n: int, rule: Rule) -> dict[str, Any]:
    """Counts and rates of a filtered set, as plain values.

    `pass_at_k` are means over the measured tasks; `difficulty` counts them by their label, `sources` by where they come
    from, with how many were kept; `infrastructure_failures` are tries that count nowhere else.
    """
    measured = [*done.kept, *done.dropped]
    solved = [counts[task.id].solved(rule.solved_at) for task in measured]
    kept = {task.id for task in done.kept}
    sources: dict[str, dict[str, int]] = {}
    for task in measured:
        source = sources.setdefault(task.source or "-", {"tasks": 0, "kept": 0})
        source["tasks"] += 1
        source["kept"] += task.id in kept
    labels = Counter(label(count, n) for count in solved)
    return {
        "tasks": len(measured) + len(done.unmeasured),
        "kept": len(done.kept),
        "dropped": len(done.dropped),
        "unmeasured": len(done.unmeasured),
        "tries": sum(len(count.tries) for count in counts.values()),
        "solved_tries": sum(count.solved(rule.solved_at) for count in counts.values()),
        "infrastructure_failures": sum(count.failures for count in counts.values()),
        "pass_at_k": {
            str(k): sum(pass_at_k(count, n, k) for count in solved) / len(solved) if solved else None
            for k in range(1, n + 1)
        },
        "difficulty": {name: labels[name] for name in LABELS},
        "sources": sources,
    }
