"""Record what a browser loads: a transport that keeps every answer that comes through it."""

import threading

import httpx

from toolenvs.web.record.writer import SiteWriter
from toolenvs.web.store import MAX_BODY_BYTES


class Recorder(httpx.AsyncBaseTransport):
    """Hands requests on to another transport, and adds each whole answer to a GET to a site.

    Answers to requests with a body are not kept: offline, the same address would answer every form alike.

    Args:
        transport: what really asks.
        site: what to add to.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, site: SiteWriter) -> None:
        self._transport = transport
        self._site = site
        self._lock = threading.Lock()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The other transport's answer, read to its end."""
        answer = await self._transport.handle_async_request(request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        parts, size = [], 0
        try:
            async for part in answer.stream:
                parts.append(part)
                size += len(part)
                if size > MAX_BODY_BYTES:
                    break
        finally:
            await answer.aclose()
        body = b"".join(parts)[:MAX_BODY_BYTES]
        if request.method == "GET":
            with self._lock:
                headers = answer.headers.multi_items()
                self._site.add(str(request.url), body, status=answer.status_code, headers=headers)
        return httpx.Response(answer.status_code, headers=answer.headers.raw, stream=httpx.ByteStream(body))

    async def aclose(self) -> None:
        """Close the other transport."""
        await self._transport.aclose()
