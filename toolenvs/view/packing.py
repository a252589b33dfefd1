"""Many values in a page, of which the reader looks at few: compressed a handful at a time, opened when wanted."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

from toolenvs.view.plain import plain

CHUNK = 32
"""Episodes that are compressed together: few enough to open at once, enough to be alike."""


class Chunks:
    """Takes values one by one; gives them as elements for a page."""

    def __init__(self) -> None:
        self._open: list[Any] = []
        self._packed: list[str] = []

    def add(self, value: Any) -> None:
        """Append a value; it has to be what JSON can hold, but for what `plain` mends."""
        self._open.append(plain(value))
        if len(self._open) == CHUNK:
            self._pack()

    def elements(self) -> Iterator[str]:
        """A `<script>` of data for each chunk, in order."""
        if self._open:
            self._pack()
        for packed in self._packed:
            yield f'<script type="text/plain" class="chunk">{packed}</script>\n'

    def _pack(self) -> None:
        text = json.dumps(self._open, separators=(",", ":"))
        self._packed.append(base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode())
        self._open = []
