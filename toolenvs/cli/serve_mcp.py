"""`toolenvs serve mcp`: the tools of a page as a server of the Model Context Protocol."""

from typing import Annotated

import typer

from toolenvs.cli.options import PageId, overrides


def mcp(
    page: PageId,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a key of the page, as in --set tools.python.timeout_s=2."
        ),
    ] = [],  # noqa: B006
    tools: Annotated[list[str], typer.Option("--tool", help="A tool of the page.  [default: all of them]")] = [],  # noqa: B006
    task: Annotated[str, typer.Option(help="Id or index of the task that sessions are about.")] = "0",
    seed: Annotated[int, typer.Option(help="Seed of the tools.")] = 0,
    http: Annotated[
        bool, typer.Option(help="Listen for streamable HTTP, instead of speaking on stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8091,
    max_sessions: Annotated[int, typer.Option(help="Clients at one time.")] = 64,
    idle_s: Annotated[
        float, typer.Option(help="After so long without a request a client's session is ended.")
    ] = 1800.0,
) -> None:
    """Offer the tools of a page to clients of the Model Context Protocol; each has tool sessions of its own."""
    from toolenvs.adapters.mcp_server import Offered, serve_http, serve_stdio

    offered = Offered(
        page,
        overrides=overrides(changes),
        tools=tuple(tools),
        task=int(task) if task.isdecimal() else task,
        seed=seed,
    )
    if http:
        serve_http(offered, host=host, port=port, max_sessions=max_sessions, idle_s=idle_s, ready=_ready)
    else:
        serve_stdio(offered)


def _ready(url: str) -> None:
    typer.echo(f"serving tools on {url}")
