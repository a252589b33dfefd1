"""A small policy and its tokenizer, and agents that sample what they are told."""

from typing import Any

import pytest

from toolenvs.agents.engine import GenerateRequest, Generation
from toolenvs.rollout.agent import Action, Request
from toolenvs.train.engines.sync import logprobs_of
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer

PLAIN = {"prompt.template": "plain", "prompt.user": "{question}\n", "tasks.set": "arithmetic", "tasks.size": 40}
"""ReTool-v0 as the tiny policy reads it."""


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return build_tokenizer()


@pytest.fixture
def model(tokenizer: Any) -> Any:
    """An untrained tiny policy."""
    return build_model(tokenizer, seed=0)


class Forced(TransformersEngine):
    """Samples the texts that `choose(context)` gives, with the policy's own log-probabilities; what it gives no text
    for is sampled."""

    def __init__(self, model: Any, tokenizer: Any, choose: Any) -> None:
        super().__init__(model, tokenizer)
        self.model, self.choose = model, choose

    def generate(self, requests: Any) -> list[Generation]:
        return [self._one(request) for request in requests]

    def _one(self, request: GenerateRequest) -> Generation:
        text = self.choose(self._codec.decode(request.ids), request.key)
        if text is None:
            return super().generate([request])[0]
        ids = self._codec.encode(text)
        logprobs = logprobs_of(self.model, list(request.ids), ids)
        return Generation(ids=ids, logprobs=[min(value, 0.0) for value in logprobs], finish="stop")


class Recorded:
    """Samples given ids, one list a turn."""

    def __init__(self, turns: list[list[int]]) -> None:
        self.turns = turns

    async def act(self, request: Request) -> Action:
        ids = tuple(self.turns[request.turn - 1])
        return Action(ids=ids, logprobs=(-0.5,) * len(ids))

    def release(self, key: str) -> None: ...
