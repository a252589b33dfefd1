"""Models behind OpenAI-compatible chat endpoints: how one is asked, and those that simulate a search or read evidence.

The policy itself is asked by `toolenvs.agents.openai`, in the same way.
"""

import asyncio
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolenvs import address, bearer
from toolenvs.errors import EngineError, MissingExtraError
from toolenvs.schema import at_least

_ATTEMPTS = 4
_BUSY = 429
_SHOWN_CHARS = 200
_FIRST_WAIT_S = 0.25
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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
        address.http(self.base_url, "base_url", 8000)

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
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        headers = bearer.headers(bearer.token(None, self.api_key_env))
        async with httpx.AsyncClient(base_url=self.base_url, headers=headers, timeout=self.timeout_s) as client:
            name = f"{self.model} at {self.base_url}"
            choice = await choose(client, body, name=name, what="answer", transport_error=httpx.HTTPError)
        if choice["message"].get("content") is None:
            raise EngineError(f"{name} answered without a message: {str(choice)[:_SHOWN_CHARS]!r}")
        return content(choice)


async def choose(
    client: Any, body: Mapping[str, Any], *, name: str, what: str, transport_error: type[Exception]
) -> Mapping[str, Any]:
    """The first choice that a model answers; its message is a table whose content is text or None, and "usage" is what
    the answer said of its tokens.

    Asked again, a few times, where nobody answers, the server is busy or fails, or what it sends is no JSON.

    Args:
        client: an `httpx.AsyncClient`.
        body: of the request.
        name: of the model, for the error message.
        what: is asked for, for the error message.
        transport_error: the base of what the client raises.

    Raises:
        EngineError: there is none.
    """
    fault = ""
    for attempt in range(_ATTEMPTS):
        await asyncio.sleep(0 if attempt == 0 else _FIRST_WAIT_S * 2 ** (attempt - 1))
        try:
            response = await client.post("chat/completions", json=body)
        except transport_error as error:
            fault = f"{type(error).__name__}: {error}"
            continue
        if response.status_code == 200:
            try:
                answer = response.json()
            except (ValueError, RecursionError):
                fault = f"it is no JSON: {response.text[:_SHOWN_CHARS]!r}"
                continue
            return _first(answer, f"{name} answered without a message: {response.text[:_SHOWN_CHARS]!r}")
        fault = f"status {response.status_code}: {response.text[:_SHOWN_CHARS]}"
        if response.status_code != _BUSY and response.status_code < 500:
            break
    raise EngineError(f"{name} gave no {what}: {fault}")


def _first(answer: Any, fault: str) -> Mapping[str, Any]:
    try:
        choice = answer["choices"][0]
        said = choice["message"].get("content")
    except (LookupError, TypeError, AttributeError):
        raise EngineError(fault) from None
    if not isinstance(choice, dict) or not isinstance(said, str | None):
        raise EngineError(fault)
    return {**choice, "usage": answer.get("usage") if isinstance(answer, dict) else None}


def tokens(choice: Mapping[str, Any], what: str) -> int | None:
    """How many "prompt_tokens" or "completion_tokens" the answer said that it took; None where it did not say."""
    usage = choice.get("usage")
    count = usage.get(what) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def content(choice: Mapping[str, Any]) -> str:
    """The text of a choice, "" for none; half a surrogate pair, which is no character, becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", choice["message"].get("content") or "")
