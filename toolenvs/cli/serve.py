"""`toolenvs serve`: parts of the house behind HTTP."""

import contextlib
from typing import Annotated

import typer

from toolenvs import bearer
from toolenvs.cli import serving
from toolenvs.cli.options import overrides
from toolenvs.cli.serve_env import env
from toolenvs.cli.serve_mcp import mcp
from toolenvs.cli.serve_openenv import openenv

TOKEN = "TOOLENVS_SANDBOX_TOKEN"
"""Environment variable that holds the token which clients of a sandbox must send."""
_FIRST = "who when where what new first name time year world city book"
"""A query of words that most English corpora have."""
SEARCH_TOKEN = "TOOLENVS_SEARCH_TOKEN"
"""Of a search server."""

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
    with serving.extra():
        from toolenvs.serve import run
        from toolenvs.serve.sandbox import Settings, build
    running = {"max_running": max_running} if max_running else {}
    settings = Settings(
        backend=backend,
        min_isolation=min_isolation,
        token=bearer.token(None, TOKEN),
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
            serving.warn(run.url(listener), "run programs here", token=bool(settings.token), variable=TOKEN)
        application = build(settings)
        typer.echo(f"serving the {backend} sandbox on {run.url(listener)}")
        run.serve(application, listener, head_s=settings.body_s, grace_s=grace_s)


@app.command("search")
def search(
    index: Annotated[str, typer.Argument(help="An index folder, or a corpus by its name: factbook, world:PASSAGES.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    backend: Annotated[str, typer.Option(help="What searches.  [default: bm25]", show_default=False)] = "",
    options: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the backend: --set kernel=numpy.")
    ] = [],  # noqa: B006
    topk: Annotated[int, typer.Option(help="Passages for a query that asks for no number of them.")] = 3,
    max_topk: Annotated[int, typer.Option(help="The most that a request may ask for.")] = 1000,
    max_queries: Annotated[int, typer.Option(help="Of one request.")] = 4096,
    max_query_chars: Annotated[int, typer.Option(help="Of one query.")] = 16_384,
    max_body_mb: Annotated[int, typer.Option(help="Of one request.")] = 16,
    max_batch: Annotated[int, typer.Option(help="Queries that are searched together.")] = 16,
    threads: Annotated[int, typer.Option(min=0, help="Batches at one time; 0: as the backend gains by.")] = 0,
    max_queued: Annotated[int, typer.Option(help="Queries that wait; further ones are answered 429.")] = 16_384,
    max_per_client: Annotated[int, typer.Option(help="Queries of one address, waiting and being searched.")] = 8192,
    queue_s: Annotated[float, typer.Option(help="How long a query may wait.")] = 30.0,
    cache: Annotated[int, typer.Option(min=0, help="Queries whose results are kept.")] = 4096,
    grace_s: Annotated[float, typer.Option(min=0, help="On SIGTERM: what running searches get to end.")] = 5.0,
) -> None:
    """Search an index for others: a drop-in for Search-R1's server, and for what other search agents ask.

    Where the environment variable TOOLENVS_SEARCH_TOKEN is set, clients must send it as a bearer token.
    """
    with serving.extra():
        from toolenvs.serve import quick, run
        from toolenvs.serve.search import Settings, build

        quick.loop_factory()
    from toolenvs.retrieval import shared

    settings = Settings(
        token=bearer.token(None, SEARCH_TOKEN),
        topk=topk,
        max_topk=max_topk,
        max_queries=max_queries,
        max_query_chars=max_query_chars,
        max_batch=max_batch,
        threads=threads,
        max_queued=max_queued,
        max_per_client=max_per_client,
        queue_s=queue_s,
        cache=cache,
        max_body_bytes=max_body_mb << 20,
    )
    with contextlib.closing(run.bind(host, port)) as listener:
        if not run.is_loopback(listener):
            serving.warn(run.url(listener), "search here", token=bool(settings.token), variable=SEARCH_TOKEN)
        retriever = shared.retriever(index, backend or None, **overrides(options))
        retriever.search([_FIRST], settings.topk)  # compiles what is compiled, and fails before it serves
        application = build(retriever, settings)
        typer.echo(f"serving {retriever.size} passages by {retriever.backend} on {run.url(listener)}")
        run.serve(application, listener, head_s=settings.body_s, grace_s=grace_s, quick=True)


app.command("env")(env)
app.command("mcp")(mcp)
app.command("openenv")(openenv)
