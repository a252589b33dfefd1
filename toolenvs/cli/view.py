"""`toolenvs view`: trajectories and learning curves as one HTML file."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from toolenvs import view as viewer
from toolenvs.errors import ConfigError, MissingExtraError


def view(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Folders of runs or evaluations, or .jsonl files of trajectories.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("trajectories.html"),
    limit: Annotated[int, typer.Option(min=0, help="Episodes of each that are embedded, the first.")] = viewer.LIMIT,
    tokenizer: Annotated[
        Path | None, typer.Option(help="tokenizer.json, or a model's folder; without it tokens are shown as ids.")
    ] = None,
) -> None:
    """Write trajectories to one self-contained HTML file, which needs neither network nor server.

    With the learning curves where a folder has metrics; several runs can be looked at side by side.
    """
    codec = None if tokenizer is None else _codec(tokenizer)
    title = " and ".join(path.name for path in paths)
    try:
        runs = [viewer.read_run(path, label) for path, label in zip(paths, _labels(paths), strict=True)]
        embedded, total = viewer.write(out, runs, title=title, limit=limit, codec=codec)
    except OSError as error:
        raise ConfigError(f"{title} cannot be read, or --out {out} not be written: {error}") from error
    note = "" if embedded == total else f" of {total}; --limit embeds more"
    typer.echo(f"{out}: {embedded} episodes{note}, {out.stat().st_size / 1e6:.2f} MB")
    if not total:
        typer.echo(
            f"toolenvs: {title} holds no episodes; a training run keeps those of every trajectories_every-th step:"
            " give `--trajectories_every 1` when it trains",
            err=True,
        )


def _labels(paths: list[Path]) -> list[str]:
    """Their names; where two are called alike, with as many folders before them as tell them apart."""
    parts = [path.resolve().parts for path in paths]
    depth = 1
    while max(Counter(one[-depth:] for one in parts).values()) > 1 and any(depth < len(one) for one in parts):
        depth += 1
    return ["/".join(one[-depth:]) for one in parts]


def _codec(path: Path) -> viewer.TokenCodec:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("tokenizers", "train", "toolenvs view --tokenizer") from None
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"there is no tokenizer at {file}: give a tokenizer.json, or a folder that holds one")
    return viewer.TokenCodec(Tokenizer.from_file(str(file)))
