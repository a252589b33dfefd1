"""The body of an answer, decompressed piece by piece and never past its cap."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable

import httpx

from toolenvs.web.faults import Fault

_PIECE = 65_536


class Body:
    """What was read of a body."""

    def __init__(self, headers: httpx.Headers, max_bytes: int) -> None:
        """Prepare to read.

        Args:
            headers: of the answer.
            max_bytes: kept of the body, and read from the wire.

        Raises:
            Fault: decode, the body is compressed in a way that was not asked for.
        """
        coding = headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise Fault("decode", f"the page is compressed as {coding!r:.60}, only gzip is read: open another page")
        self._gzip = zlib.decompressobj(31) if coding.endswith("gzip") else None
        self._begun = False  # something of a gzip stream was read
        self._max_bytes = max_bytes
        self.kept = bytearray()
        """What was read, decompressed."""
        self.read = 0
        """Bytes that came over the wire."""
        self.truncated = False
        """Whether there is more than was kept, or the connection ended early."""

    async def fill(self, chunks: AsyncIterable[bytes]) -> None:
        """Read until the end, or until the cap.

        Raises:
            Fault: decode, the compressed data are damaged.
        """
        pieces = aiter(chunks)
        try:
            async for chunk in pieces:
                self.read += len(chunk)
                if self._gzip is None:
                    self._keep(chunk)
                else:
                    self._inflate(chunk)
                if self.read > self._max_bytes:
                    self.truncated = True
                if self.truncated:
                    return
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
        if self._gzip is not None and self._begun and not self._gzip.eof:
            self.truncated = True

    def _keep(self, data: bytes) -> None:
        room = self._max_bytes - len(self.kept)
        if len(data) > room:
            self.truncated = True
            data = data[:room]
        self.kept += data

    def _inflate(self, chunk: bytes) -> None:
        while chunk and not self.truncated:
            assert self._gzip is not None
            if self._gzip.eof:
                if not chunk.startswith(b"\x1f"):  # zeros or rubbish after the last member, which gzip passes over
                    return
                self._gzip = zlib.decompressobj(31)
            self._begun = True
            try:
                data = self._gzip.decompress(chunk, min(_PIECE, self._max_bytes - len(self.kept) + 1))
            except zlib.error:
                if not self.kept:
                    raise Fault("decode", "the page says that it is gzip and is not: open another page") from None
                self.truncated = True
                return
            self._keep(data)
            chunk = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
