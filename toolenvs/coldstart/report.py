"""What a build kept, rejected and lost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.row import ColdStartRow

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """Infrastructure failed twice on this task; nothing is known of its source."""

    task: str
    """The task's id."""
    fault: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """How many sources one reason rejected."""

    count: int
    examples: tuple[tuple[str, str], ...]
    """(task id, detail) of the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a build: every source is in exactly one of `rows`, `rejected` and `failures`."""

    rows: tuple[ColdStartRow, ...]
    """In the order of the sources."""
    rejected: Mapping[Reason, Rejected]
    """Only reasons that occurred, in the order of `Reason`."""
    failures: tuple[Failure, ...]
    seconds: float
    """Wall-clock time of the build."""

    @property
    def total(self) -> int:
        """How many sources there were."""
        return len(self.rows) + sum(entry.count for entry in self.rejected.values()) + len(self.failures)

    @property
    def kept(self) -> float:
        """Share of the sources that became rows, those that infrastructure lost left out; NaN where none is left."""
        judged = self.total - len(self.failures)
        return len(self.rows) / judged if judged else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The figures, without the rows."""
        return {
            "total": self.total,
            "rows": len(self.rows),
            "calls": sum(row.provenance.calls for row in self.rows),
            "failed_calls": sum(row.provenance.failed_calls for row in self.rows),
            "replaced_outputs": sum(row.provenance.replaced for row in self.rows),
            "rejected": {
                reason.value: {
                    "count": entry.count,
                    "examples": [{"task": task, "detail": detail} for task, detail in entry.examples],
                }
                for reason, entry in self.rejected.items()
            },
            "infrastructure": [{"task": failure.task, "fault": failure.fault} for failure in self.failures],
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        """A few lines to print."""
        rate = self.total / self.seconds if self.seconds else float("nan")
        lines = [
            f"kept {len(self.rows)} of {self.total} ({self.kept:.1%}) in {self.seconds:.1f} s, {rate:.1f} a second"
        ]
        for reason, entry in self.rejected.items():
            task, detail = entry.examples[0]
            lines.append(f"{entry.count:6d} {reason}, as {task}: {detail}")
        if self.failures:
            first = self.failures[0]
            lines.append(f"{len(self.failures):6d} lost to infrastructure, as {first.task}: {first.fault}")
        return "\n".join(lines)


def summarize(outcomes: Iterable[tuple[str, ColdStartRow | Rejection | Failure]], seconds: float) -> Report:
    """The report of outcomes, each with its task's id, in the order of the sources."""
    outcomes = list(outcomes)
    found: dict[Reason, list[tuple[str, str]]] = {reason: [] for reason in Reason}
    for task, outcome in outcomes:
        if isinstance(outcome, Rejection):
            found[outcome.reason].append((task, outcome.detail))
    return Report(
        rows=tuple(outcome for _, outcome in outcomes if isinstance(outcome, ColdStartRow)),
        rejected={reason: Rejected(len(all_), tuple(all_[:_EXAMPLES])) for reason, all_ in found.items() if all_},
        failures=tuple(outcome for _, outcome in outcomes if isinstance(outcome, Failure)),
        seconds=seconds,
    )
