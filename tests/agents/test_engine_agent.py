"""An engine that breaks its word: whoever waits hears of it, and nobody waits for ever."""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from toolenvs.agents.engine import Engine, EngineAgent, GenerateRequest
from toolenvs.rollout import Request
from toolenvs.tasks.task import Task


class Told(Engine):
    """Answers as it is told."""

    def __init__(self, answer: Callable[[Sequence[GenerateRequest]], Any]) -> None:
        self._answer = answer

    def generate(self, requests: Sequence[GenerateRequest]) -> Any:
        return self._answer(requests)

    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        """There are none."""


def _raise(requests: Sequence[GenerateRequest]) -> Any:
    raise RuntimeError("the engine broke")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_raise, "the engine broke"),
        (lambda requests: [], "zip"),
        (lambda requests: [None] * len(requests), "finish|ids"),
    ],
)
async def test_every_episode_hears_that_the_engine_failed(answer: Any, told: str) -> None:
    agent = EngineAgent(Told(answer))
    task = Task(id="t", question="")
    request = Request(
        key="a", task=task, turn=1, text="", messages=[], last_result="", ids=(1,), stop=(), max_new_tokens=None, seed=0
    )
    asked = [agent.act(request), agent.act(dataclasses.replace(request, key="b"))]
    heard = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 60)
    assert len(heard) == 2
    for error in heard:
        assert isinstance(error, Exception)
        with pytest.raises(type(error), match=told):
            raise error
