"""The commands, and what all of them do with an error."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from toolenvs.cli import BAD_INPUT
from toolenvs.cli.audit import audit
from toolenvs.cli.compare import compare
from toolenvs.cli.database import database
from toolenvs.cli.doctor import doctor
from toolenvs.cli.eval import evaluate
from toolenvs.cli.export import export
from toolenvs.cli.index import index
from toolenvs.cli.list import list_pages
from toolenvs.cli.play import play
from toolenvs.cli.runs import app as runs
from toolenvs.cli.serve import app as serve
from toolenvs.cli.site import app as site
from toolenvs.cli.suite import app as suite
from toolenvs.cli.tasks import app as tasks
from toolenvs.cli.train import train
from toolenvs.cli.view import view
from toolenvs.errors import ToolenvsError, leaves


class _Commands(TyperGroup):
    """Tells an error of the package's own tree in one line; any other is a fault, and keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        if os.getcwd() not in sys.path:  # as `python -m` does: tools and agents of this folder are at hand
            sys.path.insert(0, os.getcwd())
        try:
            return super().invoke(ctx)
        except* ToolenvsError as errors:
            told = "; ".join(dict.fromkeys(" ".join(str(error).split()) for error in leaves(errors)))
        typer.echo(f"toolenvs: {told}", err=True)
        raise typer.Exit(BAD_INPUT)


app = typer.Typer(
    cls=_Commands,
    help="Environments for language-model agents that act through tools.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_pages)
app.command("play")(play)
app.command("eval")(evaluate)
app.command("compare")(compare)
app.add_typer(suite, name="suite")
app.command("audit")(audit)
app.command("train", context_settings={"ignore_unknown_options": True, "help_option_names": []})(train)
app.command("view")(view)
app.command("export")(export)
app.add_typer(runs, name="runs")
app.add_typer(serve, name="serve")
app.add_typer(tasks, name="tasks")
app.command("index")(index)
app.add_typer(site, name="site")
app.command("database")(database)
app.command("doctor")(doctor)
