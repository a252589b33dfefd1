"""What a run measured: one JSON line a step, and the same curves for TensorBoard.

    <folder>/metrics.jsonl      {"step": 1, "reward": 0.3, ...}
    <folder>/tensorboard/

A run that is resumed drops the lines after its checkpoint, so that its file ends up as that of a run that was never
interrupted, except for the times in it.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.rollout.metrics import FILE as FILE
from toolenvs.rollout.metrics import read_metrics as read_metrics

TIME_SUFFIX = "_s"
"""Metrics whose names end so are wall-clock or CPU seconds: no two runs agree on them."""


class MetricsWriter:
    """Appends to a run's metrics; a context manager.

    Args:
        folder: of the run; made where it is missing.
        resume_at: None for a new run; for a resumed one the step of its checkpoint, or 0 where it has none yet.

    Raises:
        ConfigError: the folder holds the metrics of a run, and this is a new one.
        MissingExtraError: tensorboard is not installed.
    """

    def __init__(self, folder: Path, resume_at: int | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("tensorboard", "train", "writing metrics") from error
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        if path.exists():
            if resume_at is None and path.stat().st_size:
                raise ConfigError(f"{path} holds another run; choose another folder, or resume it")
            kept = [line for line in read_metrics(folder) if resume_at and line["step"] <= resume_at]
            rewritten = path.with_suffix(".unfinished")
            rewritten.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
            rewritten.replace(path)
        self._file = path.open("a", encoding="utf-8")
        # TensorBoard itself hides what an older file holds after `purge_step`.
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=resume_at + 1 if resume_at else None)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append one line, at once; a value that is not finite is written as null, which every JSON reader takes."""
        self._file.write(json.dumps({"step": step, **finite(metrics)}) + "\n")
        self._file.flush()
        for name, value in metrics.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush and close both files."""
        self._file.close()
        self._board.close()

    def __enter__(self) -> "MetricsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """The metrics with None for a value that is not finite."""
    return {name: value if math.isfinite(value) else None for name, value in metrics.items()}


def without_times(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """A line without its times: what two runs of the same seed have in common."""
    return {name: value for name, value in metrics.items() if not name.endswith(TIME_SUFFIX)}
