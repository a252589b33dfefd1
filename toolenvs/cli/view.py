"""`toolenvs view`: trajectories as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from toolenvs import view as viewer
from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.rollout import read_trajectories


def view(
    path: Annotated[Path, typer.Argument(help="A .jsonl file of trajectories, or a run's folder.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("trajectories.html"),
    limit: Annotated[int, typer.Option(min=0, help="Episodes that are embedded, the first ones.")] = viewer.LIMIT,
    tokenizer: Annotated[
        Path | None, typer.Option(help="tokenizer.json, or a model's folder; without it tokens are shown as ids.")
    ] = None,
) -> None:
    """Write trajectories to one self-contained HTML file, which needs neither network nor server."""
    codec = None if tokenizer is None else _codec(tokenizer)
    source = _source(path)
    try:
        embedded, total = viewer.write(out, read_trajectories(source), title=path.name, limit=limit, codec=codec)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read, or --out {out} not be written: {error}") from error
    note = "" if embedded == total else f" of {total}; --limit embeds more"
    typer.echo(f"{out}: {embedded} episodes{note}, {out.stat().st_size / 1e6:.2f} MB")


def _source(path: Path) -> Path:
    """Where a run's folder keeps its trajectories; its other .jsonl files hold something else."""
    return next((p for p in (path / "trajectories", path / "trajectories.jsonl") if p.exists()), path)


def _codec(path: Path) -> viewer.TokenCodec:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("tokenizers", "train", "toolenvs view --tokenizer") from None
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"there is no tokenizer at {file}: give a tokenizer.json, or a folder that holds one")
    return viewer.TokenCodec(Tokenizer.from_file(str(file)))
