"""Runs side by side: their figures, what they were set to, and differences paired over seeds.

An arm is a set of runs that differ by their seed alone. Two arms are compared seed by seed, since runs of one seed
share their tasks and their cold start, and so part of their luck.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.train import metrics, record

_OF_ONE_RUN = ("seed", "output", "resume", "threads", "wandb")
"""Settings that make no other algorithm of a run."""
_TAIL = re.compile(r"[-_.]?(?:seed)?[-_.]?(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run as its folder tells it."""

    folder: Path
    settings: Mapping[str, Any]
    """Empty where the run kept none."""
    lines: Sequence[Mapping[str, Any]]
    """Of its metrics."""
    script: str = ""

    @property
    def seed(self) -> int | None:
        """From its settings, else from the end of its folder's name."""
        if "seed" in self.settings:
            return int(self.settings["seed"])
        match = _TAIL.search(self.folder.name)
        return int(match[1]) if match else None

    @property
    def name(self) -> str:
        """The folder's, without the seed at its end."""
        match = _TAIL.search(self.folder.name)
        ends = match is not None and int(match[1]) == self.seed
        return (self.folder.name[: match.start()] if match and ends else self.folder.name) or self.folder.name

    @property
    def arm(self) -> tuple[Any, ...]:
        """Equal in runs that differ by their seed alone."""
        if not self.settings:
            return ("", self.name)
        own = {name: value for name, value in self.settings.items() if name not in _OF_ONE_RUN}
        return (self.script, repr(sorted((name, _seedless(value, self.seed)) for name, value in own.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One metric of one run."""

    last: float
    best: float
    """The largest value."""
    best_step: int
    area: float
    """Mean height of the curve, up to the last step that all compared runs reached."""
    reached: int | None
    """The first step at which it was at or above the threshold; None for never, or no threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Of one figure between two arms, over the seeds that both have."""

    by_seed: Mapping[int, float]
    """Second minus first."""
    mean: float = field(default=math.nan)
    error: float = field(default=math.nan)
    """Standard error of the mean; nan for one seed."""


def read_runs(paths: Iterable[Path]) -> list[RunRecord]:
    """Runs by their folders; a folder without metrics stands for the runs in it, however deep.

    Raises:
        ConfigError: there is no run in one of them, or one cannot be read.
    """
    found: list[RunRecord] = []
    for path in paths:
        below = [path] if (path / metrics.FILE).exists() else sorted(p.parent for p in path.rglob(metrics.FILE))
        if not below:
            raise ConfigError(f"there is no run in {path}: no {metrics.FILE} in it or below")
        known = {run.folder.resolve() for run in found}
        found += [read_run(folder) for folder in below if folder.resolve() not in known]
    return found


def read_run(folder: Path) -> RunRecord:
    """One run.

    Raises:
        ConfigError: its metrics or settings cannot be read.
    """
    told = record.read_settings(folder) if (folder / record.FILE).exists() else {}
    return RunRecord(
        folder=folder,
        settings=told.get("settings", {}),
        lines=metrics.read_metrics(folder),
        script=told.get("script", ""),
    )


def arms(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Runs by their arm, each under a name of its own, seeds in order."""
    grouped: dict[tuple[Any, ...], list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault(run.arm, []).append(run)
    named: dict[str, list[RunRecord]] = {}
    for own in grouped.values():
        name = own[0].name
        if name in named:
            name = f"{own[0].folder.parent.name}/{name}"
        number = 2
        while name in named:
            name, number = f"{own[0].name} ({number})", number + 1
        named[name] = sorted(own, key=lambda run: -1 if run.seed is None else run.seed)
    return named


def figures(run: RunRecord, metric: str, *, threshold: float | None = None, until: int | None = None) -> Figures | None:
    """A metric's figures in one run; None where it never stands there.

    Args:
        run: whose.
        metric: its name.
        threshold: what `reached` is about.
        until: last step of the area; None for the run's own.
    """
    points = [(line["step"], float(line[metric])) for line in run.lines if line.get(metric) is not None]
    if not points:
        return None
    best_step, best = max(points, key=lambda point: point[1])
    inside = points if until is None else _up_to(points, until)
    reached = next((step for step, value in points if threshold is not None and value >= threshold), None)
    return Figures(last=points[-1][1], best=best, best_step=best_step, area=_mean_height(inside), reached=reached)


def shared_steps(runs: Sequence[RunRecord], metric: str) -> int | None:
    """The last step at which every run that has the metric still had it; None where none has it."""
    last = [max(line["step"] for line in run.lines if line.get(metric) is not None) for run in having(runs, metric)]
    return min(last) if last else None


def having(runs: Sequence[RunRecord], metric: str) -> list[RunRecord]:
    """The runs in which the metric stands."""
    return [run for run in runs if any(line.get(metric) is not None for line in run.lines)]


def differing(named: Mapping[str, Sequence[RunRecord]]) -> dict[str, dict[str, Any]]:
    """Settings that arms differ in: each arm's value by the setting's name. Nested tables are told key by key."""
    flat = {
        name: _flat(
            {key: _seedless(value, runs[0].seed) for key, value in runs[0].settings.items() if key not in _OF_ONE_RUN}
        )
        for name, runs in named.items()
        if runs[0].settings
    }
    keys = sorted({key for table in flat.values() for key in table})
    told: dict[str, dict[str, Any]] = {}
    for key in keys:
        values = {name: table.get(key) for name, table in flat.items()}
        if len({repr(value) for value in values.values()}) > 1:
            told[key] = values
    return told


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> Difference | None:
    """Second minus first at the seeds that both have; None where they share none."""
    by_seed = {seed: second[seed] - first[seed] for seed in sorted(first.keys() & second.keys())}
    if not by_seed:
        return None
    values = list(by_seed.values())
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Difference(by_seed=by_seed, mean=fmean(values), error=error)


def _up_to(points: Sequence[tuple[float, float]], until: float) -> list[tuple[float, float]]:
    """The points until a step, with the height of the line there where it lies between two of them."""
    inside = [point for point in points if point[0] <= until]
    beyond = next((point for point in points if point[0] > until), None)
    if not inside or beyond is None or inside[-1][0] == until:
        return inside or list(points[:1])
    (left, low), (right, high) = inside[-1], beyond
    return [*inside, (until, low + (high - low) * (until - left) / (right - left))]


def _mean_height(points: Sequence[tuple[float, float]]) -> float:
    """Area under the line through the points, over its width."""
    width = points[-1][0] - points[0][0]
    if not width:
        return points[-1][1]
    pairs = itertools.pairwise(points)
    return sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairs) / width


def _seedless(value: Any, seed: int | None) -> Any:
    """A value in which the seed's number stands for any seed, as in the path of a cold start of the same seed."""
    if isinstance(value, str) and seed is not None:
        return re.sub(rf"(?<!\d){seed}(?!\d)", "*", value)
    return value


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = value
    return flat
