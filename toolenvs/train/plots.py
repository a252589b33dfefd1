"""The learning curve of one or more runs, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.train.metrics import read_metrics
from toolenvs.train.watch import BEGINS, read_events

_WIDTH, _HEIGHT, _COLUMNS = 4.2, 3.2, 4
Points = list[tuple[int, float]]


def learning_curve(
    runs: Mapping[str, Path | Sequence[Path]], names: Sequence[str], path: Path, *, title: str = ""
) -> Path:
    """Draw metrics against steps, one panel for each name and one line for each run, and write a PNG.

    Runs that share a label, as those of several seeds, share a colour, and their mean is drawn over them. A small mark
    at the bottom stands where a run's monitors began to warn.

    Args:
        runs: folders of runs, by the label that their lines get.
        names: metrics to draw; a step without one is left out of its line.
        path: where the picture goes.
        title: above all panels.

    Raises:
        ConfigError: no run has any of the metrics, or the picture cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "train", "drawing a learning curve") from error
    folders = {label: [where] if isinstance(where, Path) else list(where) for label, where in runs.items()}
    lines = {label: [read_metrics(folder) for folder in own] for label, own in folders.items()}
    drawn = [name for name in names if any(name in line for own in lines.values() for run in own for line in run)]
    if not drawn:
        raise ConfigError(f"none of {list(names)} stands in the metrics of {[str(run) for run in folders.values()]}")
    warned = {label: [_warnings(folder) for folder in own] for label, own in folders.items()}
    rows, columns = -(-len(drawn) // _COLUMNS), min(len(drawn), _COLUMNS)
    # `Figure` without pyplot: no window system, no global state.
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, name in zip(panels, drawn, strict=False):
        for number, (label, own) in enumerate(lines.items()):
            _draw(axes, [_points(run, name) for run in own], warned[label], label, f"C{number}")
        axes.set_xlabel("step")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    if len(runs) > 1:
        figure.axes[0].legend()
    figure.suptitle(title)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the picture {path} cannot be written: {error}") from error
    return path


def mean_of(runs: Sequence[Points]) -> Points:
    """Mean over runs at the steps that all of them have."""
    tables = [dict(points) for points in runs if points]
    shared = sorted(set.intersection(*map(set, tables))) if tables else []
    return [(step, fmean(table[step] for table in tables)) for step in shared]


def _draw(axes: Any, runs: list[Points], warned: list[list[int]], label: str, colour: str) -> None:
    several = len(runs) > 1
    for points in runs:
        style = {"linewidth": 0.8, "alpha": 0.45} if several else {"linewidth": 1.4, "label": label}
        axes.plot([step for step, _ in points], [value for _, value in points], color=colour, **style)
    if several:
        mean = mean_of(runs)
        axes.plot([step for step, _ in mean], [value for _, value in mean], color=colour, linewidth=1.8, label=label)
    steps = [step for own in warned for step in own]
    axes.plot(steps, [0.02] * len(steps), "v", color=colour, markersize=4, transform=axes.get_xaxis_transform())


def _points(run: Sequence[Mapping[str, Any]], name: str) -> Points:
    return [(line["step"], line[name]) for line in run if line.get(name) is not None]


def _warnings(folder: Path) -> list[int]:
    return [event["step"] for event in read_events(folder) if event["event"] == BEGINS]
