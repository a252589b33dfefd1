"""A model behind an OpenAI-compatible chat endpoint: vLLM, SGLang, llama.cpp or a provider."""

import importlib
from collections.abc import Callable
from typing import Any

from toolenvs import address, bearer, endpoint
from toolenvs.errors import AgentError, EngineError, MissingExtraError
from toolenvs.rollout.agent import Action, Request

_TOO_LONG = ("context_length_exceeded", "maximum context length", "context window", "context length")
"""What endpoints say where a conversation is longer than the model reads."""


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
        ConfigError: the address is none, or no header can carry the key.
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
        address.http(base_url, "base_url", 8000)
        self._model = model
        self._temperature = temperature
        self._max_turn_tokens = max_turn_tokens
        headers = bearer.headers(bearer.token(api_key, "api_key"))
        self._open: Callable[[], Any] = lambda: httpx.AsyncClient(base_url=base_url, headers=headers, timeout=timeout_s)
        self._transport_error: type[Exception] = httpx.HTTPError

    async def act(self, request: Request) -> Action:
        """The endpoint's next message.

        Raises:
            EngineError: the endpoint gave no message, after a few attempts.
            AgentError: the conversation is longer than the model reads.
        """
        left = self._max_turn_tokens if request.max_new_tokens is None else max(request.max_new_tokens, 1)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": request.messages,
            "temperature": self._temperature,
            "max_tokens": min(self._max_turn_tokens, left),
            "seed": request.seed,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.messages[-1]["role"] == "assistant":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        async with self._open() as client:
            try:
                choice = await endpoint.choose(
                    client, body, name=self._model, what="message", transport_error=self._transport_error
                )
            except EngineError as error:
                if "status 400" in str(error) and any(words in str(error).lower() for words in _TOO_LONG):
                    raise AgentError(f"the conversation is longer than the model reads: {error}") from error
                raise
        return Action(
            text=endpoint.content(choice),
            cut_short=choice.get("finish_reason") == "length",
            prompt_tokens=endpoint.tokens(choice, "prompt_tokens"),
            completion_tokens=endpoint.tokens(choice, "completion_tokens"),
        )

    def release(self, key: str) -> None:
        """Nothing is kept."""
