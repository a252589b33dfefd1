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


def warn(url: str, what: str, *, token: bool, variable: str = "") -> None:
    """Say who may use it.

    Args:
        url: where it is served.
        what: others may do there.
        token: whether one is asked for.
        variable: that would hold one; "" where its clients have none.
    """
    typer.secho(f"WARNING: {url} can be reached from other machines.", fg="red", bold=True, err=True)
    if token:
        who = "What is sent and the token travel unencrypted: put a proxy with TLS in front."
    else:
        who = f"Whoever reaches it may {what}: " + (
            f"set {variable}, or bar the port." if variable else "bar the port."
        )
    typer.secho(f"WARNING: {who}", fg="red", bold=True, err=True)
