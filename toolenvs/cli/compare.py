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
from toolenvs.evaluation.compare import Row

_WIDE = 140
"""Characters of a line that all columns fit in."""
_DETAILS = ("B better", "A better", "p", "test")
"""Columns that a narrower terminal does without; `--json` has them."""


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
    shown = Console(highlight=False)
    shown.print(_table(found, shown.width))


def _table(found: Comparison, width: int) -> Table:
    table = Table(title=f"A: {found.a}\nB: {found.b}", title_justify="left")
    made = [_cells(row) for row in found.rows]
    kept = [name for name in made[0] if width >= _WIDE or name not in _DETAILS]
    for name in kept:  # a figure is shown whole or not at all; a page's name may take two lines
        table.add_column(name, no_wrap=name not in ("page", "tasks"), overflow="fold")
    for cells in made:
        table.add_row(*(cells[name] for name in kept))
    return table


def _cells(row: Row) -> dict[str, str]:
    """A row of the table, by the names of its columns."""
    low, high = row.difference_95
    return {
        "page": row.page,
        "tasks": f"{row.tasks} ({row.left_out} left out)" if row.left_out else str(row.tasks),
        "A": f"{row.a:.3f}",
        "B": f"{row.b:.3f}",
        "B - A": f"{row.difference:+.3f}",
        "95 %": f"{low:+.3f} to {high:+.3f}",
        "B better": str(row.better),
        "A better": str(row.worse),
        "p": f"{row.p:.3g}",
        "p, Holm": f"{row.p_holm:.3g}",
        "test": row.test,
    }
