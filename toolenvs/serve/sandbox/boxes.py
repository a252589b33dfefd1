"""The sandboxes of a server: one for each size of memory that was asked for."""

import asyncio

from toolenvs import sandbox
from toolenvs.errors import SandboxError
from toolenvs.sandbox import Box
from toolenvs.serve.sandbox.settings import Settings

_LEAST_MB = 32


class Boxes:
    """Opens a sandbox when its size is first asked for. Sizes are rounded up to powers of two, so they stay few."""

    def __init__(self, settings: Settings) -> None:
        """Open the one of `settings.memory_mb`.

        Raises:
            ConfigError: the backend or an option of it is not known.
            SandboxError: the backend does not work here.
        """
        self._settings = settings
        self._opening = asyncio.Lock()
        self._closed = False
        self._boxes = {settings.memory_mb: self._open(settings.memory_mb)}

    @property
    def isolation(self) -> str | None:
        """What the programs are held by, where the backend says it."""
        tier = getattr(self._boxes[self._settings.memory_mb], "tier", None)
        return None if tier is None else str(tier)

    async def of(self, memory_limit_mb: float) -> Box:
        """The box whose programs may use that much memory; 0 or less: the server's own size.

        Raises:
            SandboxError: it does not come up.
        """
        size_mb = self._size_mb(memory_limit_mb)
        if size_mb not in self._boxes:
            async with self._opening:
                if self._closed:
                    raise SandboxError("this server is shutting down")
                if size_mb not in self._boxes:
                    self._boxes[size_mb] = await asyncio.to_thread(self._open, size_mb)
        return self._boxes[size_mb]

    async def aclose(self) -> None:
        """End every program."""
        async with self._opening:
            self._closed = True
        for box in self._boxes.values():
            await box.aclose()

    def _size_mb(self, limit_mb: float) -> int:
        settings = self._settings
        if limit_mb <= 0 or int(limit_mb) == settings.memory_mb:
            return settings.memory_mb
        size_mb = _LEAST_MB
        while size_mb < limit_mb:
            size_mb *= 2
        return min(size_mb, settings.max_memory_mb)

    def _open(self, memory_mb: int) -> Box:
        settings = self._settings
        isolation = {"min_isolation": settings.min_isolation} if settings.min_isolation else {}
        return sandbox.open(
            settings.backend,
            memory_mb=memory_mb,
            timeout_s=settings.timeout_s,
            output_chars=settings.output_chars,
            code_chars=settings.max_code_chars,
            max_running=settings.max_running,
            max_sessions=settings.max_sessions,
            **isolation,
        )
