"""Connections to a server, kept open by one event loop in a thread: callers come from any loop, or from none."""

from collections.abc import Callable, Mapping

from toolenvs.loop_thread import LoopThread
from toolenvs.retrying import AttemptFailed

MAX_ANSWER_BYTES = 256 << 20
"""Of one answer; a server that sends more is not listened to."""


class TransportFault(AttemptFailed):
    """A request that got no whole answer."""


class Connections:
    """An httpx client and the thread that it lives in.

    Args:
        headers: sent with each request.
        owner: whose they are, for messages; see `LoopThread`.
        error: what is raised where the owner is closed.
    """

    def __init__(self, headers: Mapping[str, str], *, owner: str, error: Callable[[str], Exception]) -> None:
        import httpx

        self._faults = (httpx.TransportError, httpx.StreamError, httpx.DecodingError)
        pool = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        # Nothing of the environment: queries go where the address says, through no proxy that a variable names.
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers}, limits=pool, timeout=None, trust_env=False
        )
        self.thread = LoopThread("toolenvs-http", owner=owner, error=error)

    async def send(
        self, method: str, url: str, content: bytes | None, content_type: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer. To be called in `thread`.

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
        self.thread.close(self._client.aclose)
