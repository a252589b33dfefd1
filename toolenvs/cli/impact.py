"""`toolenvs tasks score`: the tasks that a run learned in step with all the others."""

from pathlib import Path
from typing import Annotated

import typer

from toolenvs.blueprint import Blueprint
from toolenvs.cli.options import Overrides, PageId, overrides
from toolenvs.errors import ConfigError
from toolenvs.filtering.impact import THRESHOLD, history, scores
from toolenvs.page import load
from toolenvs.tasks.writing import write


def score(
    page: PageId,
    run: Annotated[
        Path, typer.Argument(help="Folder of a run that kept the episodes of all steps.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="The .jsonl file to write.", show_default=False)],
    steps_per_epoch: Annotated[int, typer.Option(min=1, help="Steps in which the run meets each task once.")] = 8,
    epochs: Annotated[int | None, typer.Option(min=1, help="The first epochs only.  [default: all whole ones]")] = None,
    threshold: Annotated[float, typer.Option(max=1, help="Tasks from this score on are kept.")] = THRESHOLD,
    split: Annotated[str, typer.Option(help="Split of the task set.  [default: the page's, else train]")] = "",
    set_: Overrides = [],  # noqa: B006 - typer copies it
) -> None:
    """Keep the tasks that a run learned as it learned the mean of them (LIMR).

    The run has to be of the page, the split and the overrides that are given here, with trajectories_every = 1. What is
    written is a task set with the scores, for tasks.set of a page or a recipe.
    """
    changed = overrides(set_)
    changed.setdefault("tasks.split", split or load(page, changed).tasks.get("split", "train"))
    told = history(run, steps_per_epoch=steps_per_epoch, epochs=epochs)
    scored = scores(told.rates)
    tasks = Blueprint(load(page, changed)).tasks
    kept = [tasks.find(task) for task, value in scored.items() if value >= threshold]
    if not kept:
        best = f"the best is {max(scored.values()):.3f}" if scored else "none has an episode in every epoch"
        raise ConfigError(f"no task of {len(told.rates)} scores {threshold:g} or more: {best}")
    columns = {task.id: {"limr_score": scored[task.id], "pass_rates": list(told.rates[task.id])} for task in kept}
    written = write(kept, out, columns)
    typer.echo(f"{out}: {written} of {len(told.rates)} tasks, from {told.epochs} epochs ({len(scored)} have a score)")
