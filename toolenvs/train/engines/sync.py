"""Weights from the trainer to the engine, and proof that both mean the same by them.

A push can go wrong without a word: a packed copy of a matrix is left as it was, or keys and values of the old weights
answer. So after each one the engine continues a fixed prompt, and the trainer scores what it sampled.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from toolenvs.agents.engine import Engine, GenerateRequest
from toolenvs.errors import EngineError

TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
"""Mean absolute difference of log-probabilities that is allowed, in nats, by the trainer's type."""
COARSE_TOLERANCE = 0.05
"""The same for shorter types, whose sums differ from one kernel to the next. Not measured on a GPU yet."""
PROMPT_TOKENS = 300
"""More than the blocks hold that engines cache keys and values by, so that stale ones would be used, and seen."""
SAMPLED_TOKENS = 24
SAMPLES = 2
_PROMPT_IDS = 256
"""The prompt is drawn from so many of the first ids, which every vocabulary has."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the engine's log-probabilities lie from the trainer's, in nats."""

    mean: float
    """Mean absolute difference."""
    max: float
    """Largest absolute difference."""
    tokens: int
    """Sampled tokens that were compared."""


def push(engine: Engine, model: nn.Module, version: int, *, tolerance: float | None = None) -> dict[str, float]:
    """Push a model's weights and compare; what it took and found, for the metrics.

    An engine that samples from the model itself is told to forget its caches, and nothing is compared.

    Args:
        engine: gets the weights.
        model: its weights, by their names in transformers.
        version: of the weights; a run names them by the step that changed them last.
        tolerance: allowed mean absolute difference of log-probabilities; None for one by the model's type.

    Raises:
        EngineError: the engine failed, or does not agree with the model.
    """
    started_s = time.perf_counter()
    engine.push_weights(model.state_dict(), version)
    if engine.holds(model):
        return {}
    pushed_s = time.perf_counter() - started_s
    each = [agreement(member, model) for member in engine.members()]
    found = next((one for one in each if math.isnan(one.mean)), None) or max(each, key=lambda one: one.mean)
    allowed = tolerance if tolerance is not None else TOLERANCE.get(_dtype(model), COARSE_TOLERANCE)
    if not found.mean <= allowed:  # nan must not pass
        raise EngineError(
            f"after the push of version {version} the engine and the trainer disagree: log-probabilities of "
            f"{found.tokens} tokens differ by {found.mean:.2g} on average, {found.max:.2g} at most, where "
            f"{allowed:g} is allowed. Look for a type or a setting of the model that only one of them has; with the "
            "same ones this is a fault of the push"
        )
    return {"push_s": pushed_s, "engine_mismatch": found.mean, "engine_mismatch_max": found.max}


def agreement(engine: Engine, model: nn.Module, *, temperature: float = 1.0) -> Agreement:
    """Compare log-probabilities of what the engine samples after a fixed prompt."""
    config: Any = model.config
    limit = min(engine.max_context or PROMPT_TOKENS * 2, getattr(config, "max_position_embeddings", PROMPT_TOKENS * 2))
    length = max(1, min(PROMPT_TOKENS, limit - SAMPLED_TOKENS - 1))
    prompt = np.random.default_rng(0).integers(0, min(config.vocab_size, _PROMPT_IDS), length).tolist()
    requests = [
        GenerateRequest(
            ids=prompt, max_new_tokens=min(SAMPLED_TOKENS, limit - length), temperature=temperature, seed=seed
        )
        for seed in range(SAMPLES)
    ]
    differences: list[float] = []
    for generation in engine.generate(requests):
        expected = logprobs_of(model, prompt, generation.ids, temperature=temperature)
        differences += [abs(a - b) for a, b in zip(generation.logprobs, expected, strict=True)]
    return Agreement(float(np.mean(differences)), float(np.max(differences)), len(differences))


@torch.no_grad()
def logprobs_of(model: nn.Module, context: list[int], ids: list[int], *, temperature: float = 1.0) -> list[float]:
    """The model's log-probability of each of `ids` after `context`."""
    device = next(model.parameters()).device
    with _evaluating(model):
        logits = model(input_ids=torch.tensor([[*context, *ids]], device=device), use_cache=False).logits[0]
    predicting = logits[len(context) - 1 : -1].float()  # [len(ids), V]
    logprobs = torch.log_softmax(predicting / (temperature or 1.0), dim=-1)
    chosen = logprobs.gather(-1, torch.tensor(ids, device=device)[:, None])[:, 0]
    return [float(value) for value in chosen]


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _dtype(model: nn.Module) -> torch.dtype:
    return next(model.parameters()).dtype
