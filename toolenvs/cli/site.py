"""`toolenvs site`: recorded web sites are made and listed."""

import re
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from toolenvs.errors import ConfigError, WebError

app = typer.Typer(help="Make recorded web sites, and list them.", no_args_is_help=True)


@app.callback()
def site() -> None:
    """Make recorded web sites, and list them."""


@app.command("build")
def build(
    name: Annotated[
        str,
        typer.Argument(help="A name that `toolenvs site list` knows, or the .site file to write.", show_default=False),
    ],
    folder: Annotated[Path | None, typer.Option(help="Record the files of this folder.")] = None,
    url: Annotated[str, typer.Option(help="The address that the folder stands for.")] = "",
    warc: Annotated[Path | None, typer.Option(help="Record the answers of this WARC file.")] = None,
    home: Annotated[str, typer.Option(help="Where a reader begins.  [default: the folder's address]")] = "",
) -> None:
    """Record a site, for `web.open`: a known one by its name, or a folder or a WARC file into a file of your own.

    An interrupted build spoils nothing.
    """
    from toolenvs.web import sites
    from toolenvs.web.record import SiteWriter, from_folder, from_warc

    started = time.monotonic()
    if folder is None and warc is None:
        path = sites.build(name)
    else:
        if not name.endswith(".site"):
            raise ConfigError(f"{name!r} is no file for a site: give one that ends in .site")
        if (folder is None) == (warc is None):
            raise ConfigError("give --folder or --warc, not both")
        if folder is not None and not url:
            raise ConfigError("--folder needs --url, the address that the folder stands for")
        path = Path(name)
        with SiteWriter(path, home=home or url, name=path.stem) as writer:
            if folder is not None:
                from_folder(writer, folder, url)
            elif warc is not None:
                from_warc(writer, warc)
    with sites.PageStore(path) as store:
        size = path.stat().st_size / 1e6
        typer.echo(f"{path}: {len(store)} addresses, {size:.1f} MB, {time.monotonic() - started:.1f} s")
        if folder is None and warc is None:
            typer.echo(f"questions about it: toolenvs site questions {name.removeprefix('sites/')}")
        typer.echo(f"begins at {store.home or re.sub('#.*', '', store.urls()[0])}")


@app.command("questions")
def questions(
    name: Annotated[str, typer.Argument(help="A site that `toolenvs site list` knows, and that was built.")],
) -> None:
    """Read the questions about a site from its pages, for task sets (`site_pages`) and edited copies of the site."""
    from rich.console import Console
    from rich.table import Table

    from toolenvs import site_facts
    from toolenvs.web import facts

    started_s = time.process_time()
    path = facts.build(name)
    spent_s = time.process_time() - started_s
    found = site_facts.read(name)
    table = Table("kind", "asked", "changed in copies", "refused")
    kinds = sorted({fact.kind for fact in found.facts} | set(found.refused))
    for kind in kinds:
        own = [fact for fact in found.facts if fact.kind == kind]
        why = "; ".join(f"{count:,} {reason}" for reason, count in found.refused.get(kind, {}).items())
        table.add_row(kind, f"{len(own):,}", f"{sum(fact.slot is not None for fact in own):,}", why)
    Console().print(table)
    typer.echo(f"{path}: {len(found.facts):,} questions about {found.site}, {spent_s:.1f} s of CPU")
    away = sorted(Counter(fact.clicks for fact in found.facts).items())
    typer.echo("clicks away: " + ", ".join(f"{count:,} at {clicks}" for clicks, count in away))


@app.command("list")
def list_sites() -> None:
    """The sites that can be built, and those that are there."""
    from rich.console import Console
    from rich.table import Table

    from toolenvs.web import sites

    table = Table("site", "title", "licence", "on this machine")
    for name in sites.names():
        path = sites.file_of(name)
        known = sites.SITES[name]
        there = "no: toolenvs site build " + name
        if path.is_file():
            try:
                with sites.PageStore(path) as store:
                    there = f"{len(store)} addresses from {store.home}"
            except WebError as error:
                there = str(error)
        table.add_row(name, known.title, known.licence, there)
    table.add_row("world:PAGES[:SEED]", "The linked pages of a fictional world", "Apache-2.0", "always")
    Console().print(table)
