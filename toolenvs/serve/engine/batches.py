"""Requests that come one by one, for an engine that takes whole batches."""

import asyncio

from toolenvs.agents.engine import Engine, GenerateRequest, Generation

_Waiting = tuple[GenerateRequest, "asyncio.Future[Generation]"]


class Batches:
    """What waits while the engine works is its next batch; a continuous engine gets every request at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[_Waiting] = []
        self._worker: asyncio.Task[None] | None = None
        self.lock = asyncio.Lock()
        """Held while the engine generates, or takes over weights."""

    async def sample(self, request: GenerateRequest) -> Generation:
        """What the engine samples for one request.

        Raises:
            EngineError: the engine failed.
            ConfigError: a setting of the engine does not allow the request.
        """
        if self._engine.continuous:
            return await self._engine.sample(request)
        future: asyncio.Future[Generation] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            async with self.lock:
                batch, self._waiting = self._next()
                if not batch:
                    return
                requests = [request for request, _ in batch]
                try:
                    generations = await asyncio.to_thread(self._engine.generate, requests)
                except Exception as error:  # told to those who wait
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), generation in zip(batch, generations, strict=True):
                    if not future.done():
                        future.set_result(generation)

    def _next(self) -> tuple[list[_Waiting], list[_Waiting]]:
        """What can be generated together, and the rest: one request of each key, and none that nobody waits for."""
        batch: list[_Waiting] = []
        rest: list[_Waiting] = []
        keys = set()
        for request, future in self._waiting:
            if future.done():
                continue
            if request.key is not None and request.key in keys:
                rest.append((request, future))
                continue
            keys.add(request.key)
            batch.append((request, future))
        return batch, rest
