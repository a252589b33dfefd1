"""`toolenvs serve openenv`: a page behind OpenEnv's interface."""

import contextlib
from typing import Annotated

import typer

from toolenvs.cli import serving
from toolenvs.cli.options import overrides


def openenv(
    page: Annotated[str, typer.Argument(help="A page, or a TOML file.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    options: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="A key of the page: --set max_calls=2.")
    ] = [],  # noqa: B006
    max_sessions: Annotated[int, typer.Option(min=1, help="Episodes at one time.")] = 256,
    grace_s: Annotated[float, typer.Option(min=0, help="On SIGTERM: what running turns get to end.")] = 5.0,
) -> None:
    """Run a page for clients of OpenEnv: its messages over a WebSocket, one episode each.

    OpenEnv's clients send no token, so that whoever reaches the address may act there.
    """
    with serving.extra():
        import websockets  # noqa: F401 - what the WebSocket stands on

        from toolenvs.adapters.openenv import MAX_MESSAGE_BYTES, application
        from toolenvs.serve import run
    with contextlib.closing(run.bind(host, port)) as listener:
        if not run.is_loopback(listener):
            serving.warn(run.url(listener), "act here, with the page's tools", token=False)
        served = application(page, max_sessions=max_sessions, **overrides(options))
        typer.echo(f"serving {page} for OpenEnv's clients on {run.url(listener)}")
        run.serve(served, listener, head_s=30.0, grace_s=grace_s, quick=True, max_message_bytes=MAX_MESSAGE_BYTES)
