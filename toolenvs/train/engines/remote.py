"""`RemoteEngine`: an engine behind HTTP, as `toolenvs.serve.engine` serves it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Hashable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from toolenvs import address, bearer
from toolenvs.agents.engine import GenerateRequest, Generation
from toolenvs.errors import ConfigError, EngineError, MissingExtraError
from toolenvs.train.engines.looped import LoopedEngine
from toolenvs.train.engines.weights import weights_file

TOKEN = "TOOLENVS_ENGINE_TOKEN"
"""Environment variable that holds the token of a server which wants one."""
_ATTEMPTS = 3
_FIRST_WAIT_S = 0.2
_CHUNK = 1 << 20
_SHOWN_CHARS = 500


class RemoteEngine(LoopedEngine):
    """Asks a server; each request is one of HTTP, so that it is answered as soon as it is done.

    A request that got no answer is sent again, a few times: by its seed it is answered with the same tokens.

    Args:
        url: such as "http://127.0.0.1:8200".
        token: the server's; None for the environment variable TOOLENVS_ENGINE_TOKEN.
        timeout_s: wall-clock seconds after which a request that was not answered has failed.

    Raises:
        ConfigError: the address is none.
        EngineError: nobody answers there.
        MissingExtraError: httpx is not installed.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 600.0) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("httpx", "remote", "an engine behind HTTP") from error
        self._failed = httpx.TransportError
        self._url = address.http(url, "an engine's url", 8200)
        self._timeout_s = timeout_s
        self.version = 0
        super().__init__("remote")
        self._client: Any = None
        try:
            self._thread.run(self._open(httpx, bearer.token(token, TOKEN)))
        except BaseException:
            self.close()
            raise

    async def _open(self, httpx: Any, token: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=self._url,
            headers=bearer.headers(token),
            timeout=self._timeout_s,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
            trust_env=False,  # a proxy for the outside does not know this machine's ports
        )
        health = await self._ask("GET", "/health")
        self.version, self.max_context = health["version"], health["max_context"]
        self._keeps_episodes = not health.get("continuous", False)

    async def _continue(self, request: GenerateRequest) -> Generation:
        said = await self._ask(
            "POST",
            "/generate",
            json={
                "ids": [int(token) for token in request.ids],
                "stop": list(request.stop),
                "max_new_tokens": request.max_new_tokens,
                "temperature": request.temperature,
                "top_p": request.top_p,
                "key": None if request.key is None else str(request.key),
                "seed": request.seed,
            },
        )
        try:
            if len(said["ids"]) != len(said["logprobs"]):
                raise ValueError("ids and log-probabilities differ in number")
            return Generation(ids=said["ids"], logprobs=said["logprobs"], finish=said["finish"])
        except (KeyError, TypeError, ValueError) as error:
            raise EngineError(f"{self._url} answered what no engine answers: {error!r}") from error

    def push_weights(self, state_dict: Mapping[str, Tensor], version: int) -> None:
        """Send the weights, and wait until the server has taken them over.

        Raises:
            EngineError: a request is being answered, or the server refuses them or fails.
        """
        self._refuse_in_flight()
        with weights_file(state_dict) as path:
            self.push_file(path, version)

    def push_file(self, path: Path, version: int) -> None:
        """As `push_weights`, from a file of `toolenvs.train.engines.weights`."""
        self._refuse_in_flight()
        self._thread.run(self._ask("PUT", "/weights", params={"version": version}, upload=path))
        self.version = version

    async def _ask(self, method: str, path: str, *, upload: Path | None = None, **fields: Any) -> dict[str, Any]:
        """The server's answer.

        Raises:
            ConfigError: the server says that a setting does not allow it.
            EngineError: it gave none.
        """
        fault = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(_FIRST_WAIT_S * 2 ** (attempt - 1))
            try:
                body = {"content": _chunks(upload)} if upload is not None else {}
                async with asyncio.timeout(self._timeout_s):
                    response = await self._client.request(method, path, **body, **fields)
            except TimeoutError:
                raise EngineError(f"{self._url}{path} did not answer within {self._timeout_s:g} s") from None
            except self._failed as error:
                fault = f"{type(error).__name__}: {error}"
                continue
            return self._said(path, response)
        raise EngineError(f"{self._url}{path} cannot be reached: {fault}")

    def _said(self, path: str, response: Any) -> dict[str, Any]:
        try:
            said = response.json()
        except ValueError:
            said = None
        if response.status_code == 200 and isinstance(said, dict):
            return said
        detail = said.get("detail") if isinstance(said, dict) else response.text[:_SHOWN_CHARS]
        if response.status_code == 400:
            raise ConfigError(str(detail))
        raise EngineError(f"{self._url}{path} answered {response.status_code}: {detail}")

    def alive(self) -> bool:
        """Whether the server answers, and its engine can."""
        try:
            return bool(self._thread.run(self._ask("GET", "/health"))["status"] == "ok")
        except (EngineError, KeyError):
            return False

    def release(self, key: Hashable) -> None:
        """Tell the server that an episode is over, without waiting; not one whose engine keeps nothing by episode."""
        if not self._keeps_episodes:
            return
        with contextlib.suppress(EngineError):
            self._thread.submit(self._forget(str(key)))

    async def _forget(self, key: str) -> None:
        with contextlib.suppress(EngineError, ConfigError):
            await self._ask("POST", "/release", json={"key": key})

    def close(self) -> None:
        """Close the connections; the server goes on. A second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(EngineError):
                self._thread.run(client.aclose())
        self._thread.close()


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
