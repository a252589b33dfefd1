"""The environments that clients asked for: a page with overrides, built once and shared by all of its episodes."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs import blueprint as blueprints
from toolenvs.assets import page_files
from toolenvs.blueprint import Blueprint
from toolenvs.codec import TokenCodec
from toolenvs.errors import PageError, did_you_mean
from toolenvs.serve.env import allowed
from toolenvs.serve.http import Refused, log


@dataclass(slots=True, eq=False)
class Env:
    """One page with overrides."""

    key: str
    building: "asyncio.Task[Blueprint]"
    episodes: int = 0
    """That live now, or are about to; while there are any it is kept."""

    @property
    def blueprint(self) -> Blueprint:
        """What was built."""
        return self.building.result()


class Envs:
    """Environments by page and overrides, the latest used last.

    Args:
        pages: ids of bundled pages and TOML files that may be asked for; none for every bundled page.
        allow: keys that may be overridden; see `toolenvs.serve.env.allowed`.
        codec: the tokenizer of all of them, if any.
        most: environments that are kept.

    Raises:
        PageError: there is no such page, or two have one id.
    """

    def __init__(
        self, pages: tuple[str, ...], allow: tuple[str, ...], *, codec: TokenCodec | None = None, most: int = 32
    ) -> None:
        bundled = page_files()
        self.pages: dict[str, Path] = {} if pages else dict(bundled)
        for page in pages:
            name = page.removeprefix("toolenvs/")
            file = bundled.get(name, Path(page))
            if not file.is_file():
                raise PageError(f"there is no page {name!r}; {did_you_mean(name, bundled)}")
            if file.stem in self.pages:
                raise PageError(f"two pages that are to be served have the id {file.stem!r}")
            self.pages[file.stem] = file
        self.codec = codec
        self._allow = allow
        self._most = most
        self._envs: dict[str, Env] = {}

    def __len__(self) -> int:
        return len(self._envs)

    async def get(self, page: str, overrides: Mapping[str, Any]) -> Env:
        """The environment of a page with overrides, ready to be used.

        Raises:
            Refused: 403, the page is not served or a key is not allowed; 429, too many environments are in use.
            ToolenvsError: it cannot be built, or a tool does not work here.
        """
        name = page.removeprefix("toolenvs/")
        if name not in self.pages:
            raise Refused(403, f"this server has no page {name[:80]!r}; {did_you_mean(name[:80], self.pages)}")
        try:
            key = hashlib.sha256(json.dumps([name, overrides], sort_keys=True).encode()).hexdigest()
            if key not in self._envs:
                allowed.check(self.pages[name], overrides, self._allow)
        except RecursionError:
            raise PageError("the overrides are nested too deeply") from None
        env = self._envs.pop(key, None)
        if env is None:
            await self._make_room()
            env = self._envs.pop(key, None) or Env(key, asyncio.create_task(self._build(name, overrides)))
        self._envs[key] = env  # the latest used last
        env.episodes += 1  # it is wanted, and kept until who waits has it
        try:
            await asyncio.shield(env.building)
        except BaseException:
            failed = env.building.done() and (env.building.cancelled() or env.building.exception() is not None)
            if failed and self._envs.get(key) is env:
                del self._envs[key]  # the next one may try again
            raise
        finally:
            env.episodes -= 1
        return env

    async def _build(self, name: str, overrides: Mapping[str, Any]) -> Blueprint:
        built = await asyncio.to_thread(self._load, name, overrides)
        await built.check()
        return built

    def _load(self, name: str, overrides: Mapping[str, Any]) -> Blueprint:
        built = blueprints.load(str(self.pages[name]), tokenizer=self.codec, **overrides)
        len(built.tasks)  # loads them
        return built

    async def _make_room(self) -> None:
        while len(self._envs) >= self._most:
            idle = next((env for env in self._envs.values() if not env.episodes and env.building.done()), None)
            if idle is None:
                told = f"{len(self._envs)} pages with overrides are in use, the most that may"
                raise Refused(429, f"{told}; try again later", {"Retry-After": "5"})
            del self._envs[idle.key]
            await _close(idle)

    async def aclose(self) -> None:
        """Let go of all of them. No episode lives any more."""
        envs, self._envs = list(self._envs.values()), {}
        for env in envs:
            await _close(env)


async def _close(env: Env) -> None:
    if not env.building.done():
        env.building.cancel()
        await asyncio.wait((env.building,))
    if env.building.cancelled() or env.building.exception() is not None:
        return
    try:
        await env.blueprint.close()
    except Exception:  # nobody uses it any more
        log.warning("an environment was not closed", exc_info=True)
