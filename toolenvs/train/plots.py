"""The learning curve of one or more runs, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.train.metrics import read_metrics


def learning_curve(runs: Mapping[str, Path], names: Sequence[str], path: Path, *, title: str = "") -> Path:
    """Draw metrics against steps, one panel for each name and one line for each run, and write a PNG.

    Args:
        runs: folders of runs, by the label that their lines get.
        names: metrics to draw; a step without one is left out of its line.
        path: where the picture goes.
        title: above all panels.

    Raises:
        ConfigError: no run has any of the metrics.
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "train", "drawing a learning curve") from error
    lines = {label: read_metrics(folder) for label, folder in runs.items()}
    if not any(name in line for run in lines.values() for line in run for name in names):
        raise ConfigError(f"none of {list(names)} stands in the metrics of {[str(folder) for folder in runs.values()]}")
    # `Figure` without pyplot: no window system, no global state.
    figure = Figure(figsize=(4.2 * len(names), 3.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for label, run in lines.items():
            points = [(line["step"], line[name]) for line in run if line.get(name) is not None]
            axes.plot([step for step, _ in points], [value for _, value in points], label=label, linewidth=1.4)
        axes.set_xlabel("step")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    if len(runs) > 1:
        figure.axes[0].legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    return path
