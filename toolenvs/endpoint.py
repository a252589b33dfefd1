"""A helper model behind an OpenAI-compatible chat endpoint: what simulates a search engine or reads evidence.

The policy itself is asked by `toolenvs.agents.openai`.
"""

import asyncio
import importlib
import os
from dataclasses import dataclass
from typing import Any

from toolenvs.errors import EngineError, MissingExtraError
from toolenvs.schema import at_least

_ATTEMPTS = 4
_RETRIED = (429, 500, 502, 503, 504)
_SHOWN_CHARS = 200
_FIRST_WAIT_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model answers, and how it samples. A table of a page, such as `[tools.simulated_search.endpoint]`."""

    base_url: str
    """Such as "http://127.0.0.1:8000/v1"."""
    model: str
    """Its name there."""
    api_key_env: str = ""
    """Name of the environment variable that holds the bearer token; "" for none."""
    temperature: float = 1.0
    max_tokens: int = 512
    """Tokens of one answer."""
    timeout_s: float = 120.0
    """Wall-clock seconds of one request."""

    def __post_init__(self) -> None:
        at_least(0, temperature=self.temperature, timeout_s=self.timeout_s)
        at_least(1, max_tokens=self.max_tokens)

    async def ask(self, prompt: str, *, seed: int) -> str:
        """What the model answers to one user message.

        Args:
            prompt: the message.
            seed: sent along; servers that sample by it give the same answer again.

        Raises:
            EngineError: it gave none, after a few attempts.
            MissingExtraError: httpx is not installed.
        """
        try:
            httpx = importlib.import_module("httpx")
        except ImportError:
            raise MissingExtraError("httpx", "openai", "an OpenAI-compatible endpoint") from None
        token = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        fault = ""
        async with httpx.AsyncClient(base_url=self.base_url, headers=headers, timeout=self.timeout_s) as client:
            for attempt in range(_ATTEMPTS):
                await asyncio.sleep(0 if attempt == 0 else _FIRST_WAIT_S * 2 ** (attempt - 1))
                try:
                    response = await client.post("chat/completions", json=body)
                except httpx.HTTPError as error:
                    fault = f"{type(error).__name__}: {error}"
                    continue
                if response.status_code == 200:
                    return self._content(response)
                fault = f"status {response.status_code}: {response.text[:_SHOWN_CHARS]}"
                if response.status_code not in _RETRIED:
                    break
        raise EngineError(f"{self.model} at {self.base_url} gave no answer: {fault}")

    def _content(self, response: Any) -> str:
        try:
            content = response.json()["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            content = None
        if not isinstance(content, str):
            shown = response.text[:_SHOWN_CHARS]
            raise EngineError(f"{self.model} at {self.base_url} answered without a message: {shown!r}")
        return content
