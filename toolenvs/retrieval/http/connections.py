"""Connections to a server, kept open by one event loop in a thread: callers come from any loop, or from none."""

import asyncio
import threading
from collections.abc import Mapping

MAX_ANSWER_BYTES = 256 << 20
"""Of one answer; a server that sends more is not listened to."""


class TransportFault(Exception):
    """A request that got no whole answer."""


class Connections:
    """An httpx client and the thread that it lives in."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        import httpx

        self._faults = (httpx.TransportError, httpx.StreamError, httpx.DecodingError)
        pool = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        # Nothing of the environment: queries go where the address says, through no proxy that a variable names.
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers}, limits=pool, timeout=None, trust_env=False
        )
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="toolenvs-http", daemon=True)
        self._thread.start()

    async def send(
        self, method: str, url: str, content: bytes | None, content_type: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer. To be called on `loop`.

        Raises:
            TransportFault: there is none, or it is too large.
        """
        headers = {} if content is None else {"Content-Type": content_type}
        received = bytearray()
        try:
            async with self._client.stream(method, url, content=content, headers=headers) as response:
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MAX_ANSWER_BYTES:
                        raise TransportFault(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
                return response.status_code, response.headers, bytes(received)
        except self._faults as error:
            raise TransportFault(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Cancel what is on its way, and let go of all."""

        async def finish() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._client.aclose()

        asyncio.run_coroutine_threadsafe(finish(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
