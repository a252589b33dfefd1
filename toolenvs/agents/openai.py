"""A model behind an OpenAI-compatible chat endpoint: vLLM, SGLang, llama.cpp or a provider."""

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

from toolenvs.errors import EngineError, MissingExtraError
from toolenvs.rollout.agent import Action, Request

_ATTEMPTS = 4
_RETRIED = (429, 500, 502, 503, 504)


class OpenAIChat:
    """Asks an endpoint for each turn.

    Where the conversation ends with an assistant message, the endpoint is asked to go on with it (vLLM's
    `continue_final_message`), as protocols whose feedback stands inside that message need.

    Args:
        model: name of the model at the endpoint.
        base_url: such as "http://127.0.0.1:8000/v1".
        api_key: sent as a bearer token; "" for none.
        temperature: of the samples.
        max_turn_tokens: tokens of one turn.
        timeout_s: wall-clock seconds of one request.

    Raises:
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str = "",
        temperature: float = 1.0,
        max_turn_tokens: int = 1024,
        timeout_s: float = 600.0,
    ) -> None:
        try:
            httpx = importlib.import_module("httpx")
        except ImportError:
            raise MissingExtraError("httpx", "openai", "an OpenAI-compatible endpoint") from None
        self._model = model
        self._temperature = temperature
        self._max_turn_tokens = max_turn_tokens
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._open: Callable[[], Any] = lambda: httpx.AsyncClient(base_url=base_url, headers=headers, timeout=timeout_s)
        self._transport_errors = (httpx.HTTPError,)

    async def act(self, request: Request) -> Action:
        """The endpoint's next message.

        Raises:
            EngineError: the endpoint gave no message, after a few attempts.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": request.messages,
            "temperature": self._temperature,
            "max_tokens": min(self._max_turn_tokens, request.max_new_tokens or self._max_turn_tokens),
            "seed": request.seed,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.messages[-1]["role"] == "assistant":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        choice = (await self._post(body))["choices"][0]
        text = choice["message"].get("content") or ""
        return Action(text=text, cut_short=choice.get("finish_reason") == "length")

    async def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        fault = ""
        async with self._open() as client:
            for attempt in range(_ATTEMPTS):
                await asyncio.sleep(0 if attempt == 0 else 0.25 * 2**attempt)
                try:
                    response = await client.post("chat/completions", json=body)
                except self._transport_errors as error:
                    fault = f"{type(error).__name__}: {error}"
                    continue
                if response.status_code == 200:
                    answer: dict[str, Any] = response.json()
                    return answer
                fault = f"status {response.status_code}: {response.text[:200]}"
                if response.status_code not in _RETRIED:
                    break
        raise EngineError(f"{self._model} gave no message: {fault}")

    def release(self, key: str) -> None:
        """Nothing is kept."""
