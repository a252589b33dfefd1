"""A page that is served as the command serves it, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def openenv_url() -> Iterator[str]:
    """Where Sokoban-v0 is served to clients of OpenEnv."""
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()"]
    command += ["serve", "openenv", "Sokoban-v0", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        told = process.stdout.readline()
        assert told.startswith("serving Sokoban-v0 for OpenEnv's clients on http://127.0.0.1:"), told
        yield told.split()[-1]
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
