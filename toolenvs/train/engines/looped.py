"""What engines have in common that answer requests as they come: an event loop of their own, in a thread."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from toolenvs.agents.engine import Engine, GenerateRequest, Generation
from toolenvs.errors import EngineError
from toolenvs.loop_thread import STOP_S, LoopThread

T = TypeVar("T")


class LoopedEngine(Engine):
    """An engine whose requests run on its own loop, asked from any other loop and from blocking code."""

    continuous = True

    def __init__(self, name: str) -> None:
        self._thread = LoopThread(f"toolenvs-{name}", owner=f"the {name} engine", error=EngineError)
        self._tasks: set[asyncio.Task[Any]] = set()
        """One a request that is being continued; touched on the loop alone."""

    @abstractmethod
    async def _continue(self, request: GenerateRequest) -> Generation:
        """Answer one request; runs on the engine's loop."""

    async def sample(self, request: GenerateRequest) -> Generation:
        """Continue one request's context; a caller that is cancelled takes its request back.

        Raises:
            EngineError: the engine failed, was closed, or the request cannot be served.
            ConfigError: a setting of the engine does not allow the request.
        """
        return await self._thread.arun(self._counted(request))

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """Continue every request's context; where one fails the others are taken back.

        Raises:
            EngineError: as of `sample`.
            ConfigError: as of `sample`.
        """
        return self._thread.run(self._all(requests))

    async def _all(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        tasks = [asyncio.ensure_future(self._counted(request)) for request in requests]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _counted(self, request: GenerateRequest) -> Generation:
        if not request.ids or request.max_new_tokens < 1:
            raise EngineError(
                f"cannot generate {request.max_new_tokens} tokens after a context of {len(request.ids)}; both must be "
                f"at least 1 (episode {request.key!r})"
            )
        task = asyncio.current_task()
        assert task is not None  # on a loop there is one
        self._tasks.add(task)
        try:
            return await self._continue(request)
        finally:
            self._tasks.discard(task)

    @property
    def _in_flight(self) -> int:
        return len(self._tasks)

    async def _settled(self) -> int:
        """How many requests are being continued, once those that were taken back are gone."""
        leaving = [task for task in self._tasks if task.cancelling()]
        if leaving:
            await asyncio.wait(leaving, timeout=STOP_S)
        return self._in_flight

    def _refuse_in_flight(self) -> None:
        running = self._thread.run(self._settled())
        if running:
            raise EngineError(
                f"weights were pushed while {running} requests were being continued; their tokens would come "
                "from two policies: push between rollouts"
            )
