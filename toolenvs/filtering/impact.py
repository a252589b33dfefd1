"""LIMR: which tasks a run learned in step with all the others, told by its own history.

Li et al. 2025, "LIMR: Less is More for RL Scaling". With r_ik the raw correctness of task i in epoch k (the mean over
its episodes) and m_k the mean of r_ik over all tasks,

    score_i = 1 - sum_k (r_ik - m_k)^2 / sum_k (1 - m_k)^2

is 1 for a task whose curve is the mean curve, and 0 for one that was always solved. The authors keep tasks of at least
0.6, measured over 21 epochs; as in their code an epoch that a task lacks takes the value of the next one, and a task
that still lacks one has no score.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from toolenvs.errors import ConfigError
from toolenvs.rollout import read_trajectories

THRESHOLD = 0.6
"""The authors': what `lim.sh` passes, both ends included, leaves the published 1,389 of 7,935 tasks."""
_STEP = re.compile(r"step-(\d+)\.jsonl")


@dataclass(frozen=True, slots=True)
class History:
    """How often each task was solved in each epoch."""

    rates: Mapping[str, Sequence[float | None]]
    """By the task's id, for each epoch; None where it was not rolled out."""
    epochs: int
    steps: int
    """Steps of the run whose trajectories were there."""


def scores(rates: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """The score of each task that has one.

    Args:
        rates: raw correctness by the task's id, for each epoch; None where it is missing.
    """
    curves = {task: filled for task, curve in rates.items() if None not in (filled := _filled(curve))}
    if not curves:
        return {}
    made = np.array(list(curves.values()), dtype=np.float64)  # [tasks, epochs]
    mean = made.mean(axis=0)
    room = float(((1 - mean) ** 2).sum())
    if not room:  # every task was always solved: each is the mean curve
        return dict.fromkeys(curves, 1.0)
    return dict(zip(curves, (1 - ((made - mean) ** 2).sum(axis=1) / room).tolist(), strict=True))


def _filled(curve: Sequence[float | None]) -> list[float | None]:
    filled = list(curve)
    for epoch in range(len(filled) - 1):
        if filled[epoch] is None:
            filled[epoch] = filled[epoch + 1]
    return filled


def history(run: Path, *, steps_per_epoch: int, epochs: int | None = None) -> History:
    """What a run's trajectories tell, but for episodes that were helped.

    Args:
        run: folder of a run that kept the trajectories of every step (`trajectories_every = 1`).
        steps_per_epoch: steps in which the run goes through its tasks once.
        epochs: the first ones only.

    Raises:
        ConfigError: there are no trajectories of the first step on, or one step's are missing among them.
    """
    folder = run / "trajectories" if (run / "trajectories").is_dir() else run
    named = ((_STEP.fullmatch(path.name), path) for path in folder.glob("*.jsonl"))
    files = sorted((int(match.group(1)), path) for match, path in named if match)
    last = len(files) if epochs is None else min(len(files), epochs * steps_per_epoch)
    for expected, (step, _) in enumerate(files[:last], start=1):
        if step != expected:
            raise ConfigError(
                f"{folder} lacks the trajectories of step {expected}: the history of a run is read from all of them; "
                "set trajectories_every = 1 when it trains"
            )
    count = last // steps_per_epoch
    if not count:
        raise ConfigError(
            f"{folder} holds the trajectories of {len(files)} steps, and an epoch has {steps_per_epoch}: train longer, "
            "or set the steps of an epoch"
        )
    found: dict[str, list[list[float]]] = {}
    for step, path in files[: count * steps_per_epoch]:
        for episode in read_trajectories(path):
            if not episode.failed and not episode.guidance:
                seen = found.setdefault(episode.task, [[] for _ in range(count)])
                seen[(step - 1) // steps_per_epoch].append(float((episode.success or 0.0) >= 1))
    rates = {task: [sum(seen) / len(seen) if seen else None for seen in epoch] for task, epoch in found.items()}
    return History(rates=rates, epochs=count, steps=count * steps_per_epoch)
