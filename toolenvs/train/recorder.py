"""All that a run tells while it trains: settings, metrics, warnings and progress."""

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolenvs.train.metrics import MetricsWriter, read_metrics
from toolenvs.train.monitors import open_monitors
from toolenvs.train.progress import StepProgress
from toolenvs.train.record import write_settings
from toolenvs.train.watch import Watch
from toolenvs.train.weights_and_biases import WandbWriter


@dataclass(frozen=True, kw_only=True)
class RecorderSettings:
    """How a run is watched."""

    monitors: Mapping[str, Any] = field(default_factory=dict)
    """Thresholds of what watches the run, as in `--monitors.entropy.fall 0.05`; false leaves one out. The monitors are
    files in toolenvs/train/monitors."""
    wandb: str = ""
    """Project of Weights & Biases that gets the metrics as well; "" for none."""


class Recorder:
    """Writes to a run's folder and to the terminal.

    Args:
        folder: of the run.
        title: of the run.
        settings: of the run; a `RecorderSettings` among other things, with `steps` and `resume`.
        done: steps that were done before.
        device: that it trains on.

    Raises:
        ConfigError: the folder holds another run, or a setting does not fit.
        MissingExtraError: a package is not installed.
    """

    def __init__(self, folder: Path, title: str, settings: Any, done: int, *, device: str) -> None:
        monitors = open_monitors(settings.monitors)
        with contextlib.ExitStack() as opened:
            self._metrics = opened.enter_context(MetricsWriter(folder, done if settings.resume else None))
            write_settings(folder, title, settings, done, device=device)
            self._watch = Watch(folder, monitors, read_metrics(folder))
            opened.callback(self._watch.close)
            self._wandb: WandbWriter | None = None
            if settings.wandb:
                self._wandb = WandbWriter(folder, settings.wandb, dataclasses.asdict(settings), resumed=bool(done))
                opened.callback(self._wandb.close)
            self._progress = StepProgress(title, settings.steps, done)
            opened.callback(self._progress.close)
            self._opened = opened.pop_all()

    def write(self, step: int, line: Mapping[str, float]) -> None:
        """The metrics of a step; warnings that begin with it are told."""
        self._metrics.write(step, line)
        if self._wandb is not None:
            self._wandb.write(step, line)
        self._progress.show(step, line)
        for text in self._watch.look(step, line):
            self._progress.warn(step, text)
            if self._wandb is not None:
                self._wandb.warn(text)

    def close(self) -> None:
        """Close all of it. A second call does nothing."""
        self._opened.close()
