"""`toolenvs suite`: the suites that there are, whether they are as they were pinned, and pinning them."""

from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from toolenvs.cli import BAD_INPUT
from toolenvs.evaluation import load_suite, suite_files
from toolenvs.evaluation.folder import write_text
from toolenvs.evaluation.running import Ready, prepare
from toolenvs.evaluation.suites import Suite, pin, suite_file

app = typer.Typer(help="List, check and pin suites of tasks.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="A bundled suite's name, or a TOML file.", show_default=False)]


@app.callback()
def suites() -> None:
    """List, check and pin suites of tasks."""


@app.command("list")
def list_suites() -> None:
    """List the bundled suites."""
    table = Table("suite", "pages", "tasks", "tries of each", "summary", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in suite_files():
        suite = load_suite(name)
        tasks = sum(page.tasks or len(page.ids) for page in suite.pages)
        table.add_row(name, str(len(suite.pages)), str(tasks), str(suite.n), suite.summary)
    Console(highlight=False).print(table)


@app.command("check")
def check(name: Name) -> None:
    """Tell whether the pages and tasks of a suite are those that were pinned. The exit code is 1 where they are not."""
    suite = load_suite(name)
    warnings = [warning for ready in _prepared(suite) for warning in ready.warnings]
    unpinned = [page.name for page in suite.pages if not (page.page_hash and page.tasks_hash)]
    for line in [*warnings, *(f"{page}: not pinned; `toolenvs suite pin` does it" for page in unpinned)]:
        typer.echo(line)
    if warnings or unpinned:
        raise typer.Exit(1)
    typer.echo(f"{suite.id}: all {len(suite.pages)} pages and their tasks are as they were pinned")


@app.command("pin")
def pin_suite(name: Name) -> None:
    """Write the hashes of a suite's pages and tasks, as they are now, into its file."""
    file = suite_file(name)
    suite = load_suite(name)
    hashes = {
        ready.name: (str(ready.setting["page_hash"]), str(ready.setting["tasks_hash"])) for ready in _prepared(suite)
    }
    try:
        write_text(file, pin(file.read_text("utf-8"), hashes))
    except OSError as error:
        typer.echo(f"toolenvs: {file} cannot be written: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    typer.echo(f"{file}: {len(hashes)} pages pinned")


def _prepared(suite: Suite) -> list[Ready]:
    with ExitStack() as stack:
        ready = []
        for page in suite.pages:
            ready.append(prepare(page))
            stack.callback(ready[-1].close)
    return ready
