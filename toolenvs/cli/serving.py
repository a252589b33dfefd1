"""What the commands that serve have in common."""

import contextlib
from collections.abc import Iterator

import typer

from toolenvs.errors import MissingExtraError


@contextlib.contextmanager
def extra() -> Iterator[None]:
    """Say which extra is missing, where a package of it is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("starlette", "uvicorn", "httptools", "uvloop", "msgpack", "websockets"):
            raise
        raise MissingExtraError(package, "serve", "toolenvs serve") from None


def warn(url: str, what: str, token: str) -> None:
    """Say who may use it; `token` names the variable that would ask for one, "" where one is asked for."""
    typer.secho(f"WARNING: {url} can be reached from other machines.", fg="red", bold=True, err=True)
    who = (
        f"Whoever reaches it may {what}: set {token}, or bar the port."
        if token
        else ("What is sent and the token travel unencrypted: put a proxy with TLS in front.")
    )
    typer.secho(f"WARNING: {who}", fg="red", bold=True, err=True)
