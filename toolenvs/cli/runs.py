"""`toolenvs runs`: training runs are listed, drawn and compared."""

import math
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolenvs.errors import ConfigError

if TYPE_CHECKING:
    from toolenvs.train.comparison import Figures, RunRecord

app = typer.Typer(help="List, draw and compare training runs.", no_args_is_help=True)
_METRICS = ("success", "test_success", "reward", "entropy", "policy_tokens", "gradient_norm", "reward_spread")
_RUNS = "Folders of runs; a folder of folders stands for all runs in it."
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help=_RUNS, show_default=False)]
_MAX_SHOWN = 60


@app.callback()
def runs() -> None:
    """List, draw and compare training runs."""


@app.command("list")
def list_runs(folders: Runs) -> None:
    """Runs, how far each has come, and what its monitors warned of last."""
    from toolenvs.train.comparison import figures, read_runs
    from toolenvs.train.watch import BEGINS, read_events

    table = _table("run", "script", "seed", "step", "success", "held out", "warnings")
    for run in read_runs(folders):
        told = [event for event in read_events(run.folder) if event["event"] == BEGINS]
        latest = f"{len(told)}, last {told[-1]['monitor']} at {told[-1]['step']}" if told else ""
        step = f"{run.lines[-1]['step']}/{run.settings.get('steps', '?')}" if run.lines else "0"
        success = [figures(run, metric) for metric in ("success", "test_success")]
        cells = [f"{one.last:.3f}" if one else "" for one in success]
        table.add_row(str(run.folder), run.script, _text(run.seed), step, *cells, latest)
    _print(table)


@app.command("plot")
def plot(
    folders: Runs,
    metric: Annotated[list[str] | None, typer.Option("--metric", "-m", help="A metric; may be repeated.")] = None,
    out: Annotated[Path, typer.Option(help="The picture to write: .png, .svg or .pdf.")] = Path("curves.png"),
) -> None:
    """Draw the learning curves of runs; runs that differ by their seed alone share a colour and get a mean."""
    from toolenvs.train.comparison import arms, read_runs
    from toolenvs.train.plots import learning_curve

    named = arms(read_runs(folders))
    learning_curve({name: [run.folder for run in own] for name, own in named.items()}, metric or _METRICS, out)
    typer.echo(f"{out}: {', '.join(f'{name} ({len(own)})' for name, own in named.items())}")


@app.command("compare")
def compare(
    folders: Runs,
    metric: Annotated[str, typer.Option("--metric", "-m", help="Metric to compare by.")] = "test_success",
    threshold: Annotated[float | None, typer.Option(help="Count the steps until the metric reaches this.")] = None,
) -> None:
    """Compare runs by a metric: last, best, mean height of the curve, steps to a threshold; paired over seeds."""
    from toolenvs.train.comparison import arms, differing, figures, having, read_runs, shared_steps

    named = arms(read_runs(folders))
    every = [run for own in named.values() for run in own]
    until = shared_steps(every, metric)
    if until is None:
        known = sorted({name for run in every for line in run.lines for name in line} - {"step"})
        raise ConfigError(f"no run has the metric {metric!r}; they have {', '.join(known) or 'none'}")
    found = {
        name: [(run, figures(run, metric, threshold=threshold, until=until)) for run in having(own, metric)]
        for name, own in named.items()
    }
    _print(_figures_table(found, metric, threshold, until))
    if len(found) > 1:
        _print(_paired_table(found, metric))
        told = differing(named)
        table = _table("setting", *named)
        for key, values in told.items():
            table.add_row(key, *(_text(values.get(name)) for name in named))
        if told:
            _print(table)
        if missing := [name for name, own in named.items() if not own[0].settings]:
            typer.echo(f"no settings.json, so settings are not compared: {', '.join(missing)}")


Found = dict[str, list[tuple["RunRecord", "Figures | None"]]]


def _figures_table(found: Found, metric: str, threshold: float | None, until: int) -> Any:
    """One row a run, and the mean of each arm of several."""
    reach = [f"steps to {threshold:g}"] if threshold is not None else []
    table = _table("run", "seed", f"{metric}, last", "best", "at step", f"mean to step {until}", *reach)
    for name, own in found.items():
        whole = [one for _, one in own if one is not None]
        for run, one in own:
            if one is not None:
                reached = [_text(one.reached) or "never"] if reach else []
                row = (f"{one.last:.3f}", f"{one.best:.3f}", str(one.best_step), f"{one.area:.3f}", *reached)
                table.add_row(str(run.folder), _text(run.seed), *row)
        if len(whole) > 1:
            means = [f"{fmean(getattr(one, key) for one in whole):.3f}" for key in ("last", "best", "area")]
            steps = [one.reached for one in whole]
            reached = [f"{fmean(s for s in steps if s is not None):.0f}" if None not in steps else "not all"]
            table.add_row(f"mean of {name}", "", means[0], means[1], "", means[2], *(reached if reach else []))
    return table


def _paired_table(found: Found, metric: str) -> Any:
    """Each further arm against the first one."""
    from toolenvs.train.comparison import paired

    (first, base), *others = found.items()
    table = _table(f"against {first}", f"{metric}, last", "best", "mean", "seeds")
    for name, own in others:
        cells, seeds = [], 0
        for key in ("last", "best", "area"):
            values = [
                {run.seed or 0: float(getattr(one, key)) for run, one in each if one is not None}
                for each in (base, own)
            ]
            told = paired(*values)
            seeds = len(told.by_seed) if told else 0
            error = f" ± {told.error:.3f}" if told and not math.isnan(told.error) else ""
            cells.append(f"{told.mean:+.3f}{error}" if told else "no seed of both")
        table.add_row(name, *cells, str(seeds))
    return table


def _table(*heads: str) -> Any:
    from rich.table import Table

    table = Table()
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def _print(table: Any) -> None:
    from rich.console import Console

    Console().print(table)


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
