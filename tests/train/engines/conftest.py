"""Engines behind HTTP, and a policy on disk that they and the trainer load."""

import contextlib

import pytest
import torch

from tests.serve.serving import in_thread
from tests.train.conftest import peaked
from toolenvs.agents.engine import GenerateRequest
from toolenvs.serve import run
from toolenvs.serve.engine import build
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with an untrained tiny policy."""
    tokenizer = build_tokenizer()
    return str(save_policy(tmp_path_factory.mktemp("policy"), peaked(build_model(tokenizer, seed=0)), tokenizer))


@pytest.fixture
def trainer(folder):
    """The policy of `folder`, as a trainer has it."""
    return load_policy(folder)[0]


@pytest.fixture(scope="session")
def asked():
    """`asked(n)`: n requests of unlike contexts and lengths."""

    def make(count=8, **changes):
        given = {"max_new_tokens": 12, **changes}
        return [
            GenerateRequest(ids=[5 + row, 6, 7, *range(8, 8 + row % 5)], seed=row, key=f"e{row}", **given)
            for row in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def alike():
    """`alike(some, others)`: the same tokens, and the same numbers up to rounding in batches of another make."""

    def same(some, others):
        assert [(one.ids, one.finish) for one in some] == [(one.ids, one.finish) for one in others]
        for one, other in zip(some, others, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)

    return same


@pytest.fixture
def disturb():
    """`disturb(model)`: other weights, in place."""

    def change(model, factor=1.1):
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 2:
                    parameter.mul_(factor)

    return change


@pytest.fixture
def served():
    """`served(engine)`: its address, behind a server of this process; ended with the test."""
    import uvicorn

    with contextlib.ExitStack() as stack:

        def start(engine, token=""):
            listener = run.bind("127.0.0.1", 0)
            config = uvicorn.Config(
                build(engine, name="tiny", token=token), log_level="error", ws="none", timeout_graceful_shutdown=1
            )
            stack.enter_context(in_thread(config, listener))
            return run.url(listener)

        yield start
