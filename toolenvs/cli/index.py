"""`toolenvs index`: a corpus becomes an index folder."""

import time
from pathlib import Path
from typing import Annotated

import typer

from toolenvs.cli.options import overrides


def index(
    corpus: Annotated[
        Path, typer.Argument(help="A .jsonl, .jsonl.gz or .parquet file of passages.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(help="The index folder to write.", show_default=False)],
    backend: Annotated[list[str], typer.Option(help="What to index for: bm25, dense, lucene; may be repeated.")] = [  # noqa: B006
        "bm25"
    ],
    options: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of a backend, as in --set k1=1.2.")
    ] = [],  # noqa: B006
) -> None:
    """Build an index of passages, for `retrieval.open` and the search tool. An interrupted build spoils nothing."""
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    from toolenvs import retrieval

    started = time.monotonic()
    columns = (TextColumn("{task.description:>8}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TimeRemainingColumn()) as bars:
        stages: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], completed=done)

        store = retrieval.index(corpus, out, backend, overrides(options), report)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    typer.echo(f"{out}: {len(store)} passages, {size / 1e6:.1f} MB, {time.monotonic() - started:.1f} s")
