"""HTTP/1.1 parsed by llhttp, for servers whose requests cost less than Python's own parser takes for them."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_OVERHEAD_BYTES = 65_536
"""Of one request, beyond its body: the head, the frames of chunks and what trails them."""


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes event loops that go with it."""
    import uvloop

    return uvloop.new_event_loop


def protocol(head_s: float) -> type[asyncio.Protocol]:
    """A protocol that closes a connection on which no request comes to be within `head_s`, or with too much around it.

    Uvicorn itself would wait for ever, and keep a head of any length.
    """

    class Impatient(HttpToolsProtocol):
        _seen: object = None
        _overhead = 0
        _begun = False
        """Whether bytes came that belong to no request yet."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch = self.loop.call_later(head_s, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._watch.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._overhead += len(data)
            super().data_received(data)
            self._begun = self.cycle is None or self.cycle.response_complete
            if self._overhead > MAX_OVERHEAD_BYTES:
                self.transport.close()

        def on_body(self, body: bytes) -> None:
            self._overhead -= len(body)
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._overhead = 0
            super().on_message_complete()

        def _look(self) -> None:
            if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it became a WebSocket
                return
            if self.cycle is self._seen and (self.cycle is None or (self._begun and self.cycle.response_complete)):
                self.transport.close()
                return
            self._seen = self.cycle
            self._watch = self.loop.call_later(head_s, self._look)

    return Impatient
