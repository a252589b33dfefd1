"""The one interface of generation engines, and the agent that batches many episodes into one engine call."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolenvs.attended import in_caller
from toolenvs.errors import EngineError
from toolenvs.rollout.agent import Action, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """Continue one token context."""

    ids: Sequence[int]
    """All tokens so far."""
    stop: tuple[str, ...] = ()
    """Strings that end the generation."""
    max_new_tokens: int = 1024
    temperature: float = 1.0
    """0 takes the most likely token."""
    top_p: float = 1.0
    key: Hashable = None
    """Identity of the episode, by which an engine may find keys and values of earlier turns; None for none."""
    seed: int = 0
    """Seed of this request's samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What an engine sampled."""

    ids: list[int]
    """Sampled ids, the token that completes a stop string and the end-of-text token included."""
    logprobs: list[float]
    """Log-probability of each id in the distribution at the request's temperature."""
    finish: Literal["stop", "eos", "length"]


class Engine(ABC):
    """Prompt ids in, sampled ids and log-probabilities out; weights pushed between steps."""

    version: int = 0
    """Number of weight updates that the engine has seen."""
    continuous: bool = False
    """Whether requests may come at any time, each answered as soon as it is done: then an episode waits for its own
    tool and its own tokens only. Else requests are collected, and one batch is answered after another."""
    max_context: int | None = None
    """Tokens that a context and what is sampled after it may have together; None where the engine sets no limit."""

    @abstractmethod
    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """Continue every request's context.

        Raises:
            EngineError: the engine failed.
        """

    async def sample(self, request: GenerateRequest) -> Generation:
        """Continue one request's context, while others are being continued.

        Raises:
            EngineError: the engine failed, or takes batches only.
        """
        raise EngineError(f"{type(self).__name__} takes whole batches only: call generate")

    @abstractmethod
    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        """Take over new weights, and forget whatever was computed with the old ones."""

    def alive(self) -> bool:
        """Whether it can still answer; where not, `push_weights` starts it anew if it can be."""
        return True

    def members(self) -> "list[Engine]":
        """The engines that it is made of, each with weights of its own; by default it is one itself."""
        return [self]

    def holds(self, model: object) -> bool:
        """Whether it samples from this very object, so that a push changes nothing."""
        return False

    def release(self, key: Hashable) -> None:  # noqa: B027 - not every engine keeps anything
        """Forget an episode."""

    def close(self) -> None:  # noqa: B027
        """Free the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How an `EngineAgent` samples."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_turn_tokens: int = 1024
    """Tokens of one turn, where the page's budget leaves more."""


class EngineAgent:
    """An agent over an engine.

    An engine that is `continuous` gets each request as it comes. For any other, requests of concurrent episodes are
    collected and generated together: a batch is generated once every running episode waits for one, in the order of
    the episodes' keys. Which episodes share a batch then depends on the episodes alone and not on how long a tool took,
    so equal runs give equal samples.

    Args:
        engine: where text comes from.
        sampling: temperature, top_p and length.
    """

    def __init__(self, engine: Engine, sampling: Sampling | None = None) -> None:
        self.engine = engine
        self.sampling = sampling or Sampling()
        self._waiting: dict[str, tuple[Request, asyncio.Future[Action]]] = {}
        self._running: set[str] = set()
        self._busy = False

    async def act(self, request: Request) -> Action:
        """Wait for what the engine samples.

        Raises:
            EngineError: the engine failed; every request of its batch is told.
        """
        if self.engine.continuous:
            return self._action(request, await self.engine.sample(self._request(request)))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Action] = loop.create_future()
        self._running.add(request.key)
        self._waiting[request.key] = (request, future)
        loop.call_soon(self._flush)  # soon: episodes that are about to ask may still join
        return await future

    def expect(self, key: str) -> None:
        """The episode will ask, and no batch is generated without it until it does, or is released."""
        self._running.add(key)

    def room(self, request: Request) -> int:
        """Tokens that the turn may have; at least 1."""
        limit = self.sampling.max_turn_tokens
        return max(limit if request.max_new_tokens is None else min(limit, request.max_new_tokens), 1)

    def release(self, key: str) -> None:
        """The episode is over; the others need not wait for it."""
        self._running.discard(key)
        self._waiting.pop(key, None)
        self.engine.release(key)
        self._flush()

    def _flush(self) -> None:
        if self._busy or not self._waiting or len(self._waiting) < len(self._running):
            return
        batch = [self._waiting.pop(key) for key in sorted(self._waiting)]
        self._busy = True
        task = asyncio.ensure_future(self._generate(batch))
        task.add_done_callback(lambda _: self._flush())

    async def _generate(self, batch: list[tuple[Request, "asyncio.Future[Action]"]]) -> None:
        try:
            requests = [self._request(request) for request, _ in batch]
            generations = await in_caller(self.engine.generate, requests)
            pairs = zip(batch, generations, strict=True)
            actions = [self._action(request, generation) for (request, _), generation in pairs]
        except Exception as error:  # handed to whoever waits, who knows what to do about it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        finally:
            self._busy = False
        for (_, future), action in zip(batch, actions, strict=True):
            if not future.done():
                future.set_result(action)

    def _action(self, request: Request, generation: Generation) -> Action:
        return Action(
            ids=tuple(generation.ids),
            logprobs=tuple(generation.logprobs),
            version=self.engine.version,
            cut_short=generation.finish == "length",
            prompt_tokens=len(request.ids or ()),
            completion_tokens=len(generation.ids),
        )

    def _request(self, request: Request) -> GenerateRequest:
        return GenerateRequest(
            ids=request.ids or (),
            stop=request.stop,
            max_new_tokens=self.room(request),
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            key=request.key,
            seed=request.seed,
        )
