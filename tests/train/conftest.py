"""Small batches, a small model and plain per-token loops to compare with."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

import toolenvs
from toolenvs.agents.engine import EngineAgent, Sampling
from toolenvs.attended import Attended
from toolenvs.rollout import collect
from toolenvs.train.batching import TokenSequence
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    return build_tokenizer()


@pytest.fixture
def one_thread():
    """Of a small model: a second thread waits more than it works."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def peaked(network):
    """Larger weights, so that distributions are far from uniform and an error of the weights shows."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return network


@pytest.fixture
def model(tokenizer):
    """An untrained tiny policy with peaked distributions."""
    return peaked(build_model(tokenizer, seed=0))


@pytest.fixture(scope="session")
def sequences() -> Callable[..., list[TokenSequence]]:
    """`sequences(seed, count)`: random sequences of unlike lengths, with all mask values, grouped in threes."""

    def make(seed: int = 0, count: int = 6) -> list[TokenSequence]:
        rng = np.random.default_rng(seed)
        made = []
        for index in range(count):
            length = int(rng.integers(6, 15))
            mask = rng.integers(0, 3, length)
            mask[0], mask[3] = 0, 1
            rewards = np.where(mask == 1, rng.normal(size=length), 0)
            ids, logprobs = rng.integers(2, 400, length), -rng.random(length) * 3
            made.append(TokenSequence.of(ids, mask, logprobs, rewards, group=index // 3))
        return made

    return make


@pytest.fixture(scope="session")
def tensors() -> Callable[..., dict[str, Tensor]]:
    """`tensors(seed)`: what a loss takes, float64 [4, 7], with a row that has no policy token."""

    def make(seed: int = 0) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed)

        def normal() -> Tensor:
            return torch.randn(4, 7, generator=generator, dtype=torch.float64)

        mask = torch.randint(0, 3, (4, 7), generator=generator, dtype=torch.int8)
        mask[0, 2], mask[1, 3], mask[3] = 1, 1, 0
        return {"logprobs": normal(), "old": normal(), "advantages": normal(), "mask": mask}

    return make


@pytest.fixture
def host(tokenizer):
    """`host(engine, page, **keys)`: what a rollout uses of a run; closed at the end."""
    runner = Attended()

    def make(engine, page="ReTool-v0", max_turn_tokens=16, env=None, **settings):
        keys = {"prompt.template": "plain", "prompt.user": "{question}\n", "tasks.set": "arithmetic", **(env or {})}
        blueprint = toolenvs.load(page, tokenizer=tokenizer, **keys)
        agent = EngineAgent(engine, Sampling(max_turn_tokens=max_turn_tokens))
        defaults = {"seed": 0, "recompute_logprobs": False, "correction_cap": 2.0}
        return SimpleNamespace(
            settings=SimpleNamespace(**{**defaults, **settings}),
            env=blueprint,
            agent=agent,
            runner=runner,
            updater=engine,
            device="cpu",
            collect=lambda tasks, **options: runner.run(collect(blueprint, agent, tasks, **options)),
            play=lambda count, act: runner.run(act(range(count))),
        )

    yield make
    runner.close()
