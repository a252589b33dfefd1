"""Readers: what a model is shown of a text."""

from dataclasses import dataclass, field

import pytest

from toolenvs.endpoint import Endpoint
from toolenvs.rewards.reading import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder(Endpoint):
    """An endpoint that keeps what it is asked."""

    base_url: str = "http://127.0.0.1:9/v1"
    model: str = "m"
    asked: list[str] = field(default_factory=list)

    async def ask(self, prompt: str, *, seed: int) -> str:
        self.asked.append(prompt)
        return "Paris"


@pytest.mark.parametrize("max_chars", [30_000, 100])
async def test_a_model_is_shown_as_much_as_was_asked_for(max_chars: int) -> None:
    endpoint = Recorder()
    assert await Model(endpoint, max_chars=max_chars).read("Where?", "#" * 50_000) == "Paris"
    assert endpoint.asked[0].count("#") == max_chars
