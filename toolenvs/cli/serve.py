"""`toolenvs serve`: parts of the house behind HTTP."""

import contextlib
import os
from typing import Annotated

import typer

from toolenvs.errors import MissingExtraError

TOKEN = "TOOLENVS_SANDBOX_TOKEN"
"""Environment variable that holds the token which clients must send."""

app = typer.Typer(help="Serve a part over HTTP.", no_args_is_help=True)


@app.callback()
def serve() -> None:
    """Serve a part over HTTP."""


@app.command("sandbox")
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
    backend: Annotated[str, typer.Option(help="Where programs run.")] = "local",
    min_isolation: Annotated[
        str, typer.Option(help="The weakest isolation that is accepted.  [default: the backend's]", show_default=False)
    ] = "",
    timeout_s: Annotated[float, typer.Option(help="Of a run that asks for none.")] = 10.0,
    max_timeout_s: Annotated[float, typer.Option(help="The longest that a run may ask for.")] = 120.0,
    memory_mb: Annotated[int, typer.Option(help="Of a program that asks for none.")] = 512,
    max_memory_mb: Annotated[int, typer.Option(help="The most that a program may ask for.")] = 2048,
    max_running: Annotated[
        int, typer.Option(min=0, help="Programs that run at one time; 0: two for each core, at least 4.")
    ] = 0,
    max_queued: Annotated[int, typer.Option(help="Programs that wait; further ones are answered 429.")] = 256,
    max_per_client: Annotated[int, typer.Option(help="Programs of one address, running and waiting.")] = 256,
    max_body_mb: Annotated[int, typer.Option(help="Of one request.")] = 16,
    max_code_chars: Annotated[int, typer.Option(help="Of one program.")] = 2_000_000,
    max_sessions: Annotated[int, typer.Option(help="Interpreters that keep their state.")] = 128,
    session_idle_s: Annotated[float, typer.Option(help="After so long without a run a session is ended.")] = 3600.0,
    grace_s: Annotated[float, typer.Option(min=0, help="On SIGTERM: what running programs get to end.")] = 5.0,
) -> None:
    """Run programs for others: a drop-in for SandboxFusion's Python side, with sessions besides.

    Where the environment variable TOOLENVS_SANDBOX_TOKEN is set, clients must send it as a bearer token.
    """
    try:
        from toolenvs.serve import run
        from toolenvs.serve.sandbox import Settings, build
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("starlette", "uvicorn"):
            raise
        raise MissingExtraError(package, "serve", "toolenvs serve") from None
    running = {"max_running": max_running} if max_running else {}
    settings = Settings(
        backend=backend,
        min_isolation=min_isolation,
        token=os.environ.get(TOKEN, ""),
        timeout_s=timeout_s,
        max_timeout_s=max_timeout_s,
        memory_mb=memory_mb,
        max_memory_mb=max_memory_mb,
        max_queued=max_queued,
        max_per_client=max_per_client,
        max_body_bytes=max_body_mb << 20,
        max_code_chars=max_code_chars,
        max_sessions=max_sessions,
        session_idle_s=session_idle_s,
        **running,
    )
    with contextlib.closing(run.bind(host, port)) as listener:
        if not run.is_loopback(listener):
            _warn(run.url(listener), open_to_all=not settings.token)
        application = build(settings)
        typer.echo(f"serving the {backend} sandbox on {run.url(listener)}")
        run.serve(application, listener, head_s=settings.body_s, grace_s=grace_s)


def _warn(url: str, *, open_to_all: bool) -> None:
    typer.secho(f"WARNING: {url} can be reached from other machines.", fg="red", bold=True, err=True)
    who = (
        f"Whoever reaches it may run programs here: set {TOKEN}, or bar the port."
        if open_to_all
        else ("Programs and the token travel unencrypted: put a proxy with TLS in front.")
    )
    typer.secho(f"WARNING: {who}", fg="red", bold=True, err=True)
