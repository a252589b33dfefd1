"""`toolenvs eval`: how often an agent succeeds, with its uncertainty."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from toolenvs.cli.options import Overrides, overrides
from toolenvs.errors import ConfigError
from toolenvs.evaluation import Evaluation, Prices, Running, Sampling
from toolenvs.evaluation import evaluate as run_evaluation
from toolenvs.evaluation.opening import KINDS
from toolenvs.evaluation.table import lines, rows
from toolenvs.rollout import Trajectory
from toolenvs.rollout.collect import AGENT

_TASKS, _N, _SEED = 100, 1, 0
_WIDE = 160
"""Characters of a line that all columns of several pages fit in."""
_DETAILS = ("reward", "failed", "agent s", "tool s", "tokens", "episodes")
"""Columns that a narrower terminal does without; `table.md` has them."""


def evaluate(
    pages: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Ids of bundled pages, or TOML files.", show_default=False),
    ] = None,
    agent: Annotated[str, typer.Option(help=f"Who acts: {KINDS}.", show_default=False)] = "",
    suite: Annotated[
        str, typer.Option(help="In place of pages: a suite's name or file, which pins tasks, seeds and sampling.")
    ] = "",
    tasks: Annotated[
        int | None, typer.Option(min=1, help=f"Tasks of each page, the first ones of its set.  [default: {_TASKS}]")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help=f"Tries of each task, for pass@1 to pass@n.  [default: {_N}]")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the task set.  [default: the page's, else test]")] = "",
    seed: Annotated[int | None, typer.Option(help=f"Of tasks, tools and samples.  [default: {_SEED}]")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of a model's samples; 0 takes the likeliest token.  [default: 1.0]")
    ] = None,
    max_turn_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens that a model may write in one turn.  [default: 1024]")
    ] = None,
    base_url: Annotated[str, typer.Option(help="Of an OpenAI-compatible endpoint.")] = Sampling().base_url,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes that run at once.")] = 64,
    retries: Annotated[int, typer.Option(min=0, help="Of a try that infrastructure ended.")] = 2,
    turn_timeout: Annotated[
        float, typer.Option(min=0, help="Seconds that a function or a command has for a turn.")
    ] = Running().turn_timeout_s,
    processes: Annotated[int, typer.Option(min=1, help="Processes of a command.")] = 1,
    engine_python: Annotated[str, typer.Option(help="Interpreter of an environment that has vLLM.")] = "",
    engine_url: Annotated[str, typer.Option(help="Where an engine is served, in place of vllm: starting one.")] = "",
    engine_set: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Option of vLLM, as in --engine-set max_context=8192."),
    ] = [],  # noqa: B006 - typer copies it
    price_in: Annotated[float | None, typer.Option(min=0, help="US dollars of a million tokens that are read.")] = None,
    price_out: Annotated[
        float | None, typer.Option(min=0, help="US dollars of a million tokens that are written.")
    ] = None,
    set_: Overrides = [],  # noqa: B006 - typer copies it
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; one of the same evaluation is gone on with.")
    ] = None,
) -> None:
    """Run an agent on held-out tasks of one page or many, and print its success with a 95 % interval.

    Episodes that infrastructure ended (a dead sandbox, a silent endpoint) are made again, then counted apart and never
    as failures; an agent that raises, hangs, dies or writes no text has failed itself: docs/eval.md tells them apart.
    """
    if not agent:
        raise ConfigError(f"--agent is missing; give {KINDS}")
    pinned: dict[str, object] = {"--tasks": tasks, "--n": n, "--seed": seed, "--temperature": temperature}
    pinned |= {"--max-turn-tokens": max_turn_tokens, "--split": split or None, "--set": set_ or None}
    given = [name for name, value in pinned.items() if value is not None]
    if suite and given:
        raise ConfigError(f"{given[0]}: the suite says so itself; leave it out, or copy the suite's file and change it")
    if bool(suite) == bool(pages):
        raise ConfigError("give the ids of pages or a --suite, and not both")
    sampling = Sampling(
        temperature=1.0 if temperature is None else temperature,
        max_turn_tokens=max_turn_tokens or 1024,
        base_url=base_url,
    )
    running = Running(
        turn_timeout_s=turn_timeout,
        processes=processes,
        engine_python=engine_python,
        engine_url=engine_url,
        engine_options=overrides(engine_set),
    )
    console = Console(stderr=True)
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(console=console, transient=True, disable=not console.is_terminal))
        bar = progress.add_task("episodes", total=None)
        told: set[str] = set()

        def ended(trajectory: Trajectory, last: bool) -> None:
            progress.advance(bar, last)
            kind = "agent" if trajectory.ending == AGENT else "infrastructure" if trajectory.failed else ""
            if kind and kind not in told:
                told.add(kind)
                console.print(
                    f"first {kind} failure: {trajectory.fault}", markup=False, highlight=False, soft_wrap=True
                )

        result = run_evaluation(
            agent,
            pages or (),
            suite=suite or None,
            tasks=tasks or _TASKS,
            n=n or _N,
            split=split,
            seed=_SEED if seed is None else seed,
            sampling=sampling,
            running=running,
            overrides=overrides(set_),
            concurrency=concurrency,
            retries=retries,
            prices=_prices(price_in, price_out),
            out=out,
            on_start=lambda total, done: progress.update(bar, total=total, completed=done),
            on_episode=ended,
        )
    shown = Console(highlight=False)
    shown.print(_table(result, shown.width))
    for warning in result.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=True)


def _prices(price_in: float | None, price_out: float | None) -> Prices | None:
    if price_in is None and price_out is None:
        return None
    return Prices(prompt=price_in or 0.0, completion=price_out or 0.0)


def _table(result: Evaluation, width: int) -> Table:
    agent, setting = result.setting["agent"], result.setting
    if len(result.pages) == 1:
        ((name, measures),) = result.pages.items()
        table = Table("measure", "value", title=f"{name}, {agent}", title_justify="left")
        for line in lines(measures, setting["n"]):
            table.add_row(*line)
        return table
    columns, made = _fitting(*rows(result.pages, result.measures), width)
    title = f"{setting['suite']}, {agent}" if setting["suite"] else str(agent)
    table = Table(*columns, title=title, title_justify="left")
    for row in made:
        table.add_row(*row, end_section=row is made[-2])
    return table


def _fitting(columns: list[str], made: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """The columns that there is room for; in a narrow terminal failures are shown where there are any."""
    if width >= _WIDE:
        return columns, made
    empty = [all(row[place] in ("", "0") for row in made) for place in range(len(columns))]
    kept = [place for place, name in enumerate(columns) if name not in _DETAILS and not empty[place]]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in made]
