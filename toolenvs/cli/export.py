"""`toolenvs export`: trajectories as a data set for other programs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from toolenvs.adapters import datasets
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, read_trajectories

_FORMS = ", ".join(datasets.FORMS)


def export(
    path: Annotated[Path, typer.Argument(help="A .jsonl file of trajectories, or a run's folder.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="What to write: NAME.parquet, NAME.jsonl, or a folder.")],
    form: Annotated[str, typer.Option(help=f"One of {_FORMS}.  [default: told by the name]")] = "",
    solved: Annotated[bool, typer.Option("--solved", help="Only episodes whose answer was right.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Also episodes that infrastructure ended.")] = False,
) -> None:
    """Write trajectories as a Hugging Face data set: messages, token ids, masks, log-probabilities, rewards, calls.

    A folder is what `datasets.load_from_disk` reads. `toolenvs.adapters.datasets.read` gives the trajectories back.
    """
    left_out = 0

    def chosen() -> Iterator[Trajectory]:
        nonlocal left_out
        for trajectory in read_trajectories(_source(path)):
            if (failed or not trajectory.failed) and (not solved or (trajectory.success or 0.0) >= 1):
                yield trajectory
            else:
                left_out += 1

    try:
        written = datasets.write(chosen(), out, form or None)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}" + (f" ({left_out} episodes were left out)" if left_out else "")) from error
    notes = [f"{left_out} left out"] if left_out else []
    if written.mended:
        notes.append(f"U+FFFD stands for halves of surrogate pairs in {written.mended}")
    typer.echo(f"{out}: {written.rows} episodes" + "".join(f"; {note}" for note in notes))


def _source(path: Path) -> Path:
    """Where a run's folder keeps its trajectories; its other .jsonl files hold something else."""
    return next((p for p in (path / "trajectories", path / "trajectories.jsonl") if p.exists()), path)
