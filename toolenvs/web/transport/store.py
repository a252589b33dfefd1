"""A recorded site as a transport: what was recorded is there at once, and nothing else is."""

import httpx

from toolenvs.web.sites import Store
from toolenvs.web.urls import canonical


class StoreTransport(httpx.AsyncBaseTransport):
    """Answers from a store; it waits for nothing, so that it needs no event loop."""

    def __init__(self, store: Store) -> None:
        """Answer from `store`."""
        self._store = store

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What was recorded for the address; status 404 where nothing was."""
        found = self._store.get(canonical(str(request.url)).text)
        if found is None:
            return httpx.Response(404, stream=httpx.ByteStream(b""))
        return httpx.Response(found.status, headers=list(found.headers), stream=httpx.ByteStream(found.body))
