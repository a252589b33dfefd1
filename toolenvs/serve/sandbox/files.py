"""Runs with files: they are put into the folder where a session's programs run, and fetched from there afterwards.

Plain names go with the first run, and come back with the last one. What lies in folders, or does not come back by
itself (unchanged, or too large), is moved by programs in that session; what a program does to its interpreter it does
to its own files only.
"""

import base64
import contextlib
from collections.abc import Iterator
from types import TracebackType

from toolenvs.errors import ConfigError, SandboxError
from toolenvs.sandbox import Box, Result, Session
from toolenvs.sandbox.outputs import is_plain
from toolenvs.serve.http import Refused

_LIMIT_S = 30.0
_CHUNK_BYTES = 300_000
"""Moved by one program; in base64 it is shorter than the longest program and output."""
_MAX_FETCHED_BYTES = 64 << 20

# Names are taken back, so that the program finds its globals as if nothing had run before.
_PUT = """
def _put(path, data):
    import base64, os
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, {mode!r}) as file:
        file.write(base64.b64decode(data))
try:
    _put({path!a}, {data!r})
finally:
    del _put
"""
_GET = """
def _get(path, start, count):
    import base64, os
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        file.seek(start)
        return base64.b64encode(file.read(count)).decode()
try:
    _got = _get({path!a}, {start}, {count})
finally:
    del _get
globals().pop("_got")
"""


class WithFiles:
    """An interpreter with files: `async with` opens it and puts them there, a call runs a program, `fetch` reads."""

    def __init__(self, box: Box, files: dict[str, bytes], fetched: list[str], *, seed: int | None = None) -> None:
        """Paths are relative to the folder where programs run.

        Raises:
            Refused: 422, a path leads elsewhere.
        """
        for path in (*files, *fetched):
            if path.startswith("/") or ".." in path.split("/") or "\0" in path or not path or not _encodes(path):
                raise Refused(422, f"{path[:80]!r} is no path below the folder where programs run")
        self._box = box
        self._plain = {path: data for path, data in files.items() if is_plain(path)}
        self._others = {path: data for path, data in files.items() if not is_plain(path)}
        self._last: Result | None = None
        self._fetched = fetched
        self._seed = seed

    async def __aenter__(self) -> "WithFiles":
        self._session: Session = await self._box.asession(seed=self._seed)
        try:
            if self._plain:
                with refusing():
                    result = await self._session.arun("", timeout_s=_LIMIT_S, files=self._plain)
                if result.status == "error":
                    raise Refused(422, f"{result.error}")
                if result.status != "ok":
                    raise SandboxError(f"files cannot be put there: {result.error}")
            for path, data in self._others.items():
                await self._put(path, data)
        except BaseException:
            await self._session.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._session.aclose()

    async def __call__(self, code: str, *, timeout_s: float, stdin: str = "") -> Result:
        """Run a program."""
        self._last = await self._session.arun(code, timeout_s=timeout_s, stdin=stdin)
        return self._last

    async def fetch(self) -> dict[str, str]:
        """The wanted files in base64; what is not there, or went with its interpreter, is left out.

        Raises:
            Refused: 413, they are too large.
        """
        found: dict[str, str] = {}
        total = 0
        left = self._last.files if self._last else {}
        for path in self._fetched:
            if path in left:
                found[path] = base64.b64encode(left[path]).decode()
                continue
            parts: list[bytes] = []
            while True:
                part = await self._get(path, sum(map(len, parts)))
                if part is None:
                    break
                parts.append(part)
                total += len(part)
                if total > _MAX_FETCHED_BYTES:
                    raise Refused(413, f"the files to fetch hold more than {_MAX_FETCHED_BYTES} bytes")
                if len(part) < _CHUNK_BYTES:
                    found[path] = base64.b64encode(b"".join(parts)).decode()
                    break
        return found

    async def _put(self, path: str, data: bytes) -> None:
        for start in range(0, max(len(data), 1), _CHUNK_BYTES):
            text = base64.b64encode(data[start : start + _CHUNK_BYTES]).decode()
            program = _PUT.format(mode="ab" if start else "wb", path=path, data=text)
            result = await self._session.arun(program, timeout_s=_LIMIT_S)
            if result.status == "error":  # no room, a file where a folder is wanted, or nothing may be written at all
                raise Refused(422, f"the file {path[:80]!r} cannot be put there: {result.error}")
            if result.status != "ok":
                raise SandboxError(f"the file {path[:80]!r} cannot be put there: {result.error}")

    async def _get(self, path: str, start: int) -> bytes | None:
        program = _GET.format(path=path, start=start, count=_CHUNK_BYTES)
        result = await self._session.arun(program, timeout_s=_LIMIT_S)
        if result.status != "ok" or result.value is None:
            return None
        try:
            return base64.b64decode(result.value.strip("'"), validate=True)
        except ValueError:
            return None  # the program had its hands in it


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Answer 422 where files cannot be given to a run."""
    try:
        yield
    except ConfigError as error:
        raise Refused(422, str(error)) from None


def _encodes(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
