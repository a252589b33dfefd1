"""The endpoints of the engine server, as an ASGI application."""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import toolenvs
from toolenvs.agents.engine import Engine, GenerateRequest
from toolenvs.errors import ConfigError, EngineError
from toolenvs.serve import metrics
from toolenvs.serve.engine.batches import Batches
from toolenvs.serve.http import Guard, Refused, answer, json_body, unless_gone
from toolenvs.train.engines.weights import read_weights

MAX_BODY_BYTES = 64 << 20
"""Of a request to generate; weights may be of any size."""
_BODY_S = 60.0
_MAX_DIGITS = 18
"""Of the number of a version."""
_FIELDS = {"ids", "stop", "max_new_tokens", "temperature", "top_p", "key", "seed"}


def build(engine: Engine, *, name: str, token: str = "") -> Starlette:
    """The application; it closes the engine when it shuts down.

    Args:
        engine: what answers.
        name: of its model, told by `/health`.
        token: clients must send it as a bearer token; "" for none.
    """
    return _Server(engine, name, token).application


class _Server:
    def __init__(self, engine: Engine, name: str, token: str) -> None:
        self._engine = engine
        self._name = name
        self._batches = Batches(engine)
        self._running = 0
        requests = metrics.Counter("toolenvs_engine_requests_total", "Requests by path and status code.")
        guard = Guard(requests, token)
        self.application = Starlette(
            routes=[
                Route("/generate", guard("/generate", self.generate), methods=["POST"]),
                Route("/weights", guard("/weights", self.weights), methods=["PUT"]),
                Route("/release", guard("/release", self.release), methods=["POST"]),
                Route("/health", guard("/health", self.health, open_to_all=True), methods=["GET"]),
            ],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._unknown},
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(self._engine.close)

    async def generate(self, request: Request) -> Response:
        """Continue one context."""
        asked = _read(await json_body(request, max_bytes=MAX_BODY_BYTES, limit_s=_BODY_S))
        self._running += 1
        try:
            generation = await unless_gone(request, self._batches.sample(asked))
        except ConfigError as error:
            raise Refused(400, str(error)) from error
        except EngineError as error:
            raise Refused(503, str(error)) from error
        finally:
            self._running -= 1
        return answer(
            {
                "ids": generation.ids,
                "logprobs": generation.logprobs,
                "finish": generation.finish,
                "version": self._engine.version,
            }
        )

    async def weights(self, request: Request) -> Response:
        """Take over the weights that are the body, a safetensors file, as version `?version=`."""
        version = request.query_params.get("version", "")
        if not version.isdecimal() or len(version) > _MAX_DIGITS:
            raise Refused(400, f"version is {version!r}: say a whole number, as in /weights?version=3")
        if self._running:
            raise Refused(409, f"{self._running} requests are being continued: push between rollouts")
        with tempfile.TemporaryDirectory(prefix="toolenvs-weights-") as folder:
            path = Path(folder) / "weights.safetensors"
            with path.open("wb") as file:
                async for chunk in request.stream():  # raises where the client goes away
                    file.write(chunk)
            async with self._batches.lock:
                try:
                    await asyncio.to_thread(self._take_over, path, int(version))
                except EngineError as error:
                    raise Refused(503, str(error)) from error
        return answer({"version": self._engine.version})

    def _take_over(self, path: Path, version: int) -> None:
        from_file: Any = getattr(self._engine, "push_file", None)
        if from_file is not None:
            from_file(path, version)
            return
        try:
            self._engine.push_weights(read_weights(path), version)
        except RuntimeError as error:  # names or shapes that the model does not have
            raise EngineError(f"these weights are not this model's: {error}") from error

    async def release(self, request: Request) -> Response:
        """Forget an episode."""
        body = await json_body(request, max_bytes=MAX_BODY_BYTES, limit_s=_BODY_S)
        if not isinstance(body, dict) or not isinstance(body.get("key"), str):
            raise Refused(400, "say the key of the episode that is over")
        self._engine.release(body["key"])
        return answer({})

    async def health(self, _: Request) -> Response:
        """What this server is."""
        return answer(
            {
                "status": "ok" if self._engine.alive() else "dead",
                "server": "toolenvs",
                "toolenvs": toolenvs.__version__,
                "engine": type(self._engine).__name__,
                "model": self._name,
                "version": self._engine.version,
                "max_context": self._engine.max_context,
                "continuous": self._engine.continuous,
                "running": self._running,
            }
        )

    async def _unknown(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        paths = "/generate, /weights, /release, /health"
        return answer({"detail": f"{error.detail}; this server knows {paths}"}, error.status_code)


def _read(body: object) -> GenerateRequest:
    """The request that a body is.

    Raises:
        Refused: 400, a field is missing, unknown or of another kind.
    """
    if not isinstance(body, dict) or "ids" not in body or not body.keys() <= _FIELDS:
        raise Refused(400, f"the body must be an object with 'ids' and, if need be, {', '.join(sorted(_FIELDS))}")
    ids, stop = body["ids"], body.get("stop", [])
    if not (isinstance(ids, list) and all(_whole(token) and token >= 0 for token in ids)):
        raise Refused(400, "ids: a list of token ids, which are whole numbers from 0")
    if not (isinstance(stop, list) and all(isinstance(text, str) and text for text in stop)):
        raise Refused(400, "stop: a list of strings, none of them empty")
    numbers = {name: body[name] for name in ("max_new_tokens", "seed") if name in body}
    if not all(map(_whole, numbers.values())):
        raise Refused(400, f"max_new_tokens and seed are whole numbers, not {json.dumps(numbers)}")
    if numbers.get("seed", 0) < 0:
        raise Refused(400, "seed: at least 0")
    shares = {name: body[name] for name in ("temperature", "top_p") if name in body}
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in shares.values()):
        raise Refused(400, f"temperature and top_p are numbers, not {json.dumps(shares)}")
    if not (0 <= shares.get("temperature", 1) < 1e6 and 0 < shares.get("top_p", 1) <= 1):
        raise Refused(400, f"temperature is at least 0, top_p above 0 and at most 1; got {json.dumps(shares)}")
    key = body.get("key")
    if key is not None and not isinstance(key, str):
        raise Refused(400, "key: a string, or null")
    return GenerateRequest(ids=ids, stop=tuple(stop), key=key, **numbers, **shares)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
