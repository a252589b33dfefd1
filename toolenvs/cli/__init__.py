"""The `toolenvs` command. One file a command; each is thin, and what it calls is importable without it."""

import sys

from toolenvs.errors import MissingExtraError

BAD_INPUT = 2
"""Exit code for what the caller can put right: a wrong id, file, key or option, or a missing package."""


def main() -> None:
    """Run the command line of this process."""
    try:
        from toolenvs.cli.app import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        print(f"toolenvs: {MissingExtraError(package, 'cli', 'the toolenvs command')}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    app()
