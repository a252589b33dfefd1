"""`toolenvs eval`: how often an agent succeeds, with its uncertainty."""

import asyncio
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from toolenvs import __version__, blueprint
from toolenvs.cli.agents import KINDS, Sampling, open_agent
from toolenvs.cli.measures import Measures, measure
from toolenvs.cli.options import Overrides, PageId, Seed, overrides
from toolenvs.errors import ConfigError
from toolenvs.page import load
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect


def evaluate(
    page: PageId,
    agent: Annotated[str, typer.Option(help=f"Who acts: {KINDS}.", show_default=False)],
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks, the first ones of the set.")] = 100,
    n: Annotated[int, typer.Option("--n", min=1, help="Episodes of each task, for pass@n.")] = 1,
    split: Annotated[str, typer.Option(help="Split of the task set.  [default: the page's, else test]")] = "",
    seed: Seed = 0,
    temperature: Annotated[float, typer.Option(min=0, help="Of a model's samples; 0 takes the likeliest token.")] = 1.0,
    max_turn_tokens: Annotated[int, typer.Option(min=1, help="Tokens that a model may write in one turn.")] = 1024,
    base_url: Annotated[str, typer.Option(help="Of an OpenAI-compatible endpoint.")] = Sampling().base_url,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes that run at once.")] = 64,
    set_: Overrides = [],  # noqa: B006 - typer copies it
    out: Annotated[Path | None, typer.Option(help="Folder for trajectories.jsonl and summary.json.")] = None,
) -> None:
    """Run an agent on held-out tasks and print its success with a 95 % interval.

    Episodes that infrastructure ended (a dead sandbox, a silent endpoint) are tried once more, then counted apart and
    never as failures.
    """
    sampling = Sampling(temperature=temperature, max_turn_tokens=max_turn_tokens, base_url=base_url)
    changed = overrides(set_)
    changed.setdefault("tasks.split", split or load(page, changed).tasks.get("split", "test"))
    opened = open_agent(agent, sampling)
    env = blueprint.load(page, tokenizer=opened.tokenizer, **changed)
    chosen = [env.tasks[index] for index in range(min(tasks, len(env.tasks)))]
    path = None if out is None else _fresh(out)

    console = Console(stderr=True)
    with ExitStack() as stack:
        write = stack.enter_context(TrajectoryWriter(path)).write if path else None
        progress = stack.enter_context(Progress(console=console, transient=True, disable=not console.is_terminal))
        bar = progress.add_task("episodes", total=len(chosen) * n)

        def ended(trajectory: Trajectory) -> None:
            progress.advance(bar)
            if write:
                write(trajectory)

        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(env.close()))
        trajectories = runner.run(
            collect(env, opened.build(env), chosen, n=n, seed=seed, concurrency=concurrency, on_trajectory=ended)
        )

    result = measure(trajectories, n)
    setting = {
        "env": env.page.id,
        "agent": agent,
        "tasks": len(chosen),
        "n": n,
        "seed": seed,
        "sampling": asdict(sampling),
        "overrides": changed,
        "toolenvs": __version__,
    }
    if out is not None:
        text = json.dumps({"setting": setting, "measures": asdict(result)}, indent=2)
        (out / "summary.json").write_text(text + "\n", encoding="utf-8")
    Console(highlight=False).print(_table(result, f"{env.page.id}, {agent}", n))
    if result.infrastructure:
        fault = next(trajectory.fault for trajectory in trajectories if trajectory.failed)
        console.print(f"first infrastructure failure: {fault}", markup=False)


def _fresh(folder: Path) -> Path:
    path = folder / "trajectories.jsonl"
    if path.exists():
        raise ConfigError(f"{folder} holds an evaluation already: give another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {folder} cannot be a folder: {error}") from error
    return path


def _table(result: Measures, title: str, n: int) -> Table:
    table = Table("measure", "value", title=title, title_justify="left")
    table.add_row("success", _success(result))
    if n > 1:
        table.add_row(f"pass@{n}", _figure(result.pass_at_n))
    for name, value in result.metrics.items():
        table.add_row(name, _figure(value))
    table.add_row("reward per episode", _figure(result.reward))
    table.add_row("turns per episode", _figure(result.turns, 2))
    failed = "" if result.failed_calls is None else f" ({result.failed_calls:.1%} failed)"
    table.add_row("calls per episode", _figure(result.calls, 2) + failed)
    table.add_row("seconds per episode", _figure(result.seconds, 2))
    table.add_row("endings", ", ".join(f"{name} {count}" for name, count in result.endings.items()) or "-")
    table.add_row("episodes", f"{result.episodes} of {result.tasks} tasks")
    table.add_row("infrastructure failures", str(result.infrastructure))
    return table


def _success(result: Measures) -> str:
    if result.success is None or result.success_95 is None:
        return "- (infrastructure ended every episode)"
    low, high = result.success_95
    return f"{result.success:.3f}  (95 %: {low:.3f} to {high:.3f})"


def _figure(value: Any, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
