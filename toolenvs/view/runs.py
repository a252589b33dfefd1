"""What is shown: the episodes and the curves of one or more runs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.rollout.files import read_trajectories, trajectory_files
from toolenvs.rollout.metrics import FILE, read_metrics
from toolenvs.rollout.trajectory import Trajectory

_STEP = re.compile(r"step-(\d+)$")


@dataclass(frozen=True, kw_only=True)
class Run:
    """A training run, an evaluation, or any other set of episodes."""

    label: str
    """What it is called on the page."""
    episodes: Iterable[tuple[int | None, Trajectory]]
    """Each with the training step that it was rolled out in, or None. Read once, so a generator will do."""
    metrics: Sequence[Mapping[str, Any]] = ()
    """Lines of what was measured, each with its `step`: the learning curves."""


def read_run(path: str | Path, label: str = "") -> Run:
    """A run from its folder, or from a file of trajectories.

    Args:
        path: a .jsonl file of trajectories; a folder of such; or a folder that a training script or an evaluation
            wrote, whose metrics become curves.
        label: of the run; by default the name of the file or folder.

    Raises:
        ConfigError: there is nothing of the kind; while the episodes are read, a line that is no trajectory.
    """
    root = Path(path)
    kept = next((one for one in (root / "trajectories", root / "trajectories.jsonl") if one.exists()), root)
    metrics = read_metrics(root) if (root / FILE).is_file() else []
    if not root.exists():
        raise ConfigError(f"there are no trajectories at {root}")
    return Run(label=label or root.resolve().name, episodes=_episodes(trajectory_files(kept)), metrics=metrics)


def _episodes(files: Sequence[Path]) -> Iterator[tuple[int | None, Trajectory]]:
    for file in files:
        named = _STEP.search(file.stem)
        step = int(named[1]) if named else None
        for trajectory in read_trajectories(file):
            yield step, trajectory
