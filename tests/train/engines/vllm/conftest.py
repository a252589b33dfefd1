"""Real engines of vLLM, each started once: `make test-vllm` installs what they need and runs what is marked `vllm`.

The engine beside the trainer needs vLLM in the interpreter of the tests; the one in a process of its own is started
with the interpreter that TOOLENVS_VLLM_PYTHON names, or with this one.
"""

import os
import sys
from pathlib import Path

import pytest

from toolenvs.train.engines.process import EngineProcess


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("vllm")


@pytest.fixture(scope="session")
def python():
    return os.environ.get("TOOLENVS_VLLM_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def options():
    """Small enough for a laptop, and one thread because two engines and the tools share two cores."""
    return {"kv_cache_gib": 0.25, "threads": 1}


@pytest.fixture(scope="session")
def apart(folder, python, options):
    """vLLM in a process of its own."""
    engine = EngineProcess(folder, engine="vllm", python=python, options=options)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def beside(folder, options):
    """vLLM beside the trainer."""
    from toolenvs.train.engines.vllm import VLLMEngine

    engine = VLLMEngine(folder, **options)
    yield engine
    engine.close()
