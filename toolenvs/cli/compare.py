"""`toolenvs compare`: two agents on the same tasks, with paired tests."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from toolenvs.errors import ConfigError
from toolenvs.evaluation import Comparison
from toolenvs.evaluation import compare as run_comparison


def compare(
    a: Annotated[Path, typer.Argument(help="The --out of `toolenvs eval` for the first agent.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="And for the second one.", show_default=False)],
    json_: Annotated[Path | None, typer.Option("--json", help="Write the comparison to this file.")] = None,
) -> None:
    """Compare two agents task by task: the difference of their success with a 95 % interval, and whether it is chance.

    McNemar's exact test where each task was tried once and is solved or not, else a randomisation test of the paired
    differences; p-values of several pages are adjusted by Holm's method. Evaluations of other tasks are refused.
    """
    found = run_comparison(a, b)
    if json_ is not None:
        try:
            json_.write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--json {json_} cannot be written: {error}") from error
    Console(highlight=False).print(_table(found))


def _table(found: Comparison) -> Table:
    columns = ("page", "tasks", "A", "B", "B - A", "95 %", "B better", "A better", "p", "p, Holm", "test")
    table = Table(*columns, title=f"A: {found.a}\nB: {found.b}", title_justify="left")
    for row in found.rows:
        low, high = row.difference_95
        left_out = f" ({row.left_out} left out)" if row.left_out else ""
        table.add_row(
            row.page,
            f"{row.tasks}{left_out}",
            f"{row.a:.3f}",
            f"{row.b:.3f}",
            f"{row.difference:+.3f}",
            f"{low:+.3f} to {high:+.3f}",
            str(row.better),
            str(row.worse),
            f"{row.p:.3g}",
            f"{row.p_holm:.3g}",
            row.test,
        )
    return table
