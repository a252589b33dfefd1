"""Processes as torchrun would start them, and cases for them."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture(scope="session")
def program():
    """The module that program.py is."""
    spec = importlib.util.spec_from_file_location("distributed_program", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="session")
def start():
    """`start(case, folder, size)`: the processes, each a Popen whose stderr is text."""

    def begin(case, folder, size, timeout_s=120):
        shared = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            "WORLD_SIZE": str(size),
            "LOCAL_WORLD_SIZE": str(size),
            "OMP_NUM_THREADS": "1",
            "RANKS_TIMEOUT_S": str(timeout_s),
        }
        return [
            subprocess.Popen(
                [sys.executable, "-W", "error::UserWarning:toolenvs", str(PROGRAM), case, str(folder)],
                env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(size)
        ]

    return begin


@pytest.fixture(scope="session")
def run(start):
    """`run(cases, folder, size)`: what the cases returned in so many processes, by case."""

    def both(cases, folder, size):
        processes = start(",".join(cases), folder, size)
        said = [process.communicate(timeout=540)[1] for process in processes]
        assert [process.returncode for process in processes] == [0] * size, "\n".join(said)
        return {case: torch.load(folder / f"{case}.{size}.pt") for case in cases}

    return both
