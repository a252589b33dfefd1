"""`toolenvs serve env`: environments over HTTP and WebSocket."""

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from toolenvs import bearer
from toolenvs.cli import serving
from toolenvs.errors import ConfigError, MissingExtraError

TOKEN = "TOOLENVS_ENV_TOKEN"
"""Environment variable that holds the token which clients of a server of environments must send."""


def env(
    pages: Annotated[
        list[str], typer.Option("--page", help="A page that may be asked for, or a TOML file.  [default: all bundled]")
    ] = [],  # noqa: B006
    allow: Annotated[
        list[str],
        typer.Option(
            "--allow", help="A key that clients may override, besides the default ones: --allow 'tools.python.*'."
        ),
    ] = [],  # noqa: B006
    allow_only: Annotated[bool, typer.Option(help="Leave the default keys out: only those of --allow.")] = False,
    tokenizer: Annotated[
        Path | None, typer.Option(help="tokenizer.json, or a model's folder: token budgets bind, and clients need it.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8090,
    max_sessions: Annotated[int, typer.Option(help="Episodes that live; further ones are answered 429.")] = 1024,
    max_sessions_per_client: Annotated[int, typer.Option(help="Of them, those of one address.")] = 1024,
    lease_s: Annotated[
        float, typer.Option(help="After so long without a request or a heartbeat one is ended.")
    ] = 120.0,
    max_running: Annotated[int, typer.Option(help="Turns at one time.")] = 256,
    max_queued: Annotated[int, typer.Option(help="Turns that wait; further ones are answered 429.")] = 4096,
    max_per_client: Annotated[int, typer.Option(help="Turns of one address, running and waiting.")] = 4096,
    step_s: Annotated[float, typer.Option(help="What one turn may take, before its episode ends.")] = 600.0,
    max_envs: Annotated[int, typer.Option(help="Pages with overrides that are kept ready.")] = 32,
    max_body_mb: Annotated[int, typer.Option(help="Of one request.")] = 16,
    grace_s: Annotated[float, typer.Option(min=0, help="On SIGTERM: what running turns get to end.")] = 5.0,
) -> None:
    """Run environments for trainers on other machines; `toolenvs.connect` is the client.

    Clients must send what the environment variable TOOLENVS_ENV_TOKEN holds, as a bearer token. Without it the server
    listens on loopback only.
    """
    with serving.extra():
        import websockets  # noqa: F401 - what the WebSocket stands on

        from toolenvs.serve import run
        from toolenvs.serve.env import Settings, build
        from toolenvs.serve.env.settings import ALLOWED
    settings = Settings(
        pages=tuple(pages),
        allow=(*(() if allow_only else ALLOWED), *allow),
        token=bearer.token(None, TOKEN),
        max_sessions=max_sessions,
        max_sessions_per_client=max_sessions_per_client,
        lease_s=lease_s,
        max_running=max_running,
        max_queued=max_queued,
        max_per_client=max_per_client,
        step_s=step_s,
        max_envs=max_envs,
        max_body_bytes=max_body_mb << 20,
    )
    with contextlib.closing(run.bind(host, port)) as listener:
        if not run.is_loopback(listener):
            if not settings.token:
                raise ConfigError(
                    f"{run.url(listener)} can be reached from other machines, which could run programs here: set "
                    f"{TOKEN} to a secret, for clients too, or listen on 127.0.0.1"
                )
            serving.warn(run.url(listener), "run environments here", token=True)
        application = build(settings, _codec(tokenizer))
        served = f"{len(pages)} pages" if pages else "every bundled page"
        typer.echo(f"serving {served} on {run.url(listener)}")
        run.serve(
            application,
            listener,
            head_s=settings.body_s,
            grace_s=grace_s,
            quick=True,
            max_message_bytes=settings.max_body_bytes,
        )


def _codec(path: Path | None) -> Any:
    """The tokenizer at that place, with its chat template where transformers knows one."""
    if path is None:
        return None
    from toolenvs.codec import TokenCodec

    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"there is no tokenizer at {file}: give a tokenizer.json, or a folder that holds one")
    try:
        if path.is_dir():
            from transformers import AutoTokenizer

            return TokenCodec(AutoTokenizer.from_pretrained(str(path)))
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "tokenizers", "train", "toolenvs serve env --tokenizer") from None
    return TokenCodec(Tokenizer.from_file(str(file)))
