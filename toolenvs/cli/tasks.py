"""`toolenvs tasks`: task sets filtered by what an agent can do, and those that a proposer wrote."""

import asyncio
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from toolenvs import __version__, filtering, self_play
from toolenvs.blueprint import Blueprint
from toolenvs.cli.impact import score
from toolenvs.cli.options import Overrides, PageId, Seed, overrides
from toolenvs.errors import ConfigError
from toolenvs.evaluation import folder
from toolenvs.evaluation.opening import KINDS, Sampling, open_agent
from toolenvs.evaluation.pins import tasks_hash
from toolenvs.evaluation.statistics import interval
from toolenvs.page import load
from toolenvs.rollout import Trajectory, TrajectoryWriter, read_trajectories
from toolenvs.tasks.writing import write

app = typer.Typer(help="Filter task sets, and make tasks of what a proposer wrote.", no_args_is_help=True)
app.command("score")(score)
_FREE = ("toolenvs", "rule")
"""Of the settings, what may differ when a run is gone on with: it decides over tries, and makes none."""


@app.callback()
def tasks() -> None:
    """Filter task sets, and make tasks of what a proposer wrote."""


@app.command("filter")
def filter_tasks(
    page: PageId,
    agent: Annotated[str, typer.Option(help=f"Who tries the tasks: {KINDS}.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the results; one of the same run is gone on with.")],
    no_tools: Annotated[
        bool, typer.Option("--no-tools", help="From memory alone: finds tasks that the agent knew before.")
    ] = False,
    contains: Annotated[
        bool, typer.Option("--contains", help="Solved where the response holds a gold, whatever the page's judge says.")
    ] = False,
    n: Annotated[int, typer.Option("--n", min=1, help="Tries of each task, for pass@1 to pass@n.")] = 10,
    min_rate: Annotated[float, typer.Option(min=0, max=1, help="Kept from this share of solved tries on.")] = 0.0,
    max_rate: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Kept up to this share.  [default: 0 with --no-tools, else 1]"),
    ] = None,
    solved_at: Annotated[float, typer.Option(help="Correctness that counts as solved, for judges that grade.")] = 1.0,
    tasks: Annotated[int | None, typer.Option(min=1, help="Number of tasks, the first ones.  [default: all]")] = None,
    split: Annotated[str, typer.Option(help="Split of the task set.  [default: the page's, else train]")] = "",
    prompt: Annotated[
        str, typer.Option(help="What is asked with --no-tools, with {question} in it.  [default: a few plain words]")
    ] = "",
    seed: Seed = 0,
    temperature: Annotated[float, typer.Option(min=0, help="Of a model's samples; 0 takes the likeliest token.")] = 1.0,
    max_turn_tokens: Annotated[int, typer.Option(min=1, help="Tokens that a model may write in one turn.")] = 1024,
    base_url: Annotated[str, typer.Option(help="Of an OpenAI-compatible endpoint.")] = Sampling().base_url,
    concurrency: Annotated[int, typer.Option(min=1, help="Tries that run at once.")] = 64,
    retries: Annotated[int, typer.Option(min=0, help="Of a try that infrastructure ended.")] = 2,
    set_: Overrides = [],  # noqa: B006 - typer copies it
) -> None:
    """Try every task n times and keep those that are solved neither too often nor too rarely.

    With --no-tools the tasks that are kept are those that the agent never solves from memory: DeepResearcher's filter
    against contamination (there with --contains). Tries that infrastructure ended are made again, and never count; a
    task that is left without all its tries is neither kept nor dropped, and the next run goes on with it.
    """
    sampling = Sampling(temperature=temperature, max_turn_tokens=max_turn_tokens, base_url=base_url)
    rule = filtering.Rule(
        min_rate=min_rate,
        max_rate=(0.0 if no_tools else 1.0) if max_rate is None else max_rate,
        solved_at=solved_at,
    )
    if prompt and not no_tools:
        raise ConfigError("--prompt is what is asked with --no-tools; with tools the page's own prompt is")
    changed = overrides(set_)
    changed.setdefault("tasks.split", split or load(page, changed).tasks.get("split", "train"))
    opened = open_agent(agent, sampling)
    env = _environment(page, changed, opened.tokenizer, no_tools=no_tools, contains=contains, prompt=prompt)
    count = len(env.tasks) if tasks is None else min(tasks, len(env.tasks))
    chosen = [env.tasks[index] for index in range(count)]
    setting = {
        "env": env.page.id,
        "agent": agent,
        "tools": not no_tools,
        "contains": contains,
        "prompt": env.page.prompt.user,
        "n": n,
        "seed": seed,
        "sampling": asdict(sampling),
        "overrides": changed,
        "tasks": count,
        "fingerprint": tasks_hash(chosen),
        "rule": asdict(rule),
        "toolenvs": __version__,
    }
    path = folder.begin(out, setting, _FREE)
    before = list(read_trajectories(path)) if path.exists() else []

    console = Console(stderr=True)
    with ExitStack() as stack:
        log = stack.enter_context(TrajectoryWriter(path)).write
        progress = stack.enter_context(Progress(console=console, transient=True, disable=not console.is_terminal))
        done = sum(not trajectory.failed for trajectory in before)
        bar = progress.add_task("tries", total=count * n, completed=done)

        def ended(trajectory: Trajectory) -> None:
            progress.advance(bar)
            log(trajectory)

        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(env.close()))
        stack.callback(lambda: runner.run(opened.close()))
        counts = runner.run(
            filtering.measure(
                env,
                opened.build(env),
                chosen,
                n=n,
                seed=seed,
                concurrency=concurrency,
                retries=retries,
                before=before,
                on_trajectory=ended,
            )
        )

    result = filtering.sort(chosen, counts, n=n, rule=rule, closed_book=no_tools)
    for name, part in (("kept", result.kept), ("dropped", result.dropped), ("unmeasured", result.unmeasured)):
        write(part, out / f"{name}.jsonl", result.columns)
    told = filtering.report(result, counts, n=n, rule=rule)
    rates = [counts[task.id].solved(solved_at) / n for task in (*result.kept, *result.dropped)]
    told["pass_at_1_95"] = list(interval(rates, len(rates) * n)) if rates else None
    folder.write_json(out / "report.json", {"setting": setting, **told})
    Console(highlight=False).print(_table(told, f"{env.page.id}, {agent}{', without tools' if no_tools else ''}", n))
    if result.unmeasured:
        console.print(f"{len(result.unmeasured)} tasks lack tries: run the same command again to go on with them")


@app.command("proposals")
def proposals(
    trajectories: Annotated[
        Path, typer.Argument(help="Episodes of a proposer: a .jsonl file, or a run's folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="The .jsonl file to write.", show_default=False)],
) -> None:
    """Make solver tasks of the valid questions that a proposer wrote, for `--set tasks.set=FILE` of SSPSolver-v0."""
    source = next((p for p in (trajectories / "trajectories.jsonl",) if p.exists()), trajectories)
    seen = 0

    def counted() -> Any:
        nonlocal seen
        for trajectory in read_trajectories(source):
            seen += 1
            yield trajectory

    found = {task.question: task for task in self_play.solver_tasks(counted())}
    if not found:
        raise ConfigError(f"{trajectories}: none of its {seen} episodes holds a valid question")
    written = write(found.values(), out)
    typer.echo(f"{out}: {written} questions of {seen} episodes")


def _environment(
    page: str, changed: dict[str, Any], tokenizer: Any, *, no_tools: bool, contains: bool, prompt: str
) -> Blueprint:
    read = load(page, changed)
    if no_tools:
        read = filtering.without_tools(read, prompt=prompt)
    if contains:
        from dataclasses import replace

        read = replace(read, judge=dict(filtering.CONTAINS))
    return Blueprint(read, tokenizer=tokenizer)


def _table(told: dict[str, Any], title: str, n: int) -> Table:
    table = Table("measure", "value", title=title, title_justify="left")
    rates = told["pass_at_k"]
    for name in ("tasks", "kept", "dropped", "unmeasured"):
        table.add_row(name, str(told[name]))
    if rates["1"] is not None:
        low, high = told["pass_at_1_95"]
        table.add_row("pass@1", f"{rates['1']:.3f}  (95 %: {low:.3f} to {high:.3f})")
        for k in sorted({2, 5, 10, n} - {1}):
            if k <= n:
                table.add_row(f"pass@{k}", f"{rates[str(k)]:.3f}")
    table.add_row("difficulty", ", ".join(f"{name} {count}" for name, count in told["difficulty"].items()))
    table.add_row("infrastructure failures", str(told["infrastructure_failures"]))
    return table
