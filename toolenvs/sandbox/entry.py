"""What the program of a cell reads: the same from `sys.stdin`, from descriptor 0 and from /dev/stdin."""

import io
import os
import stat
from typing import Any, cast

_NULL = "/dev/null"


class Nothing(io.RawIOBase):
    """What is beneath standard input when there is none: a program cannot leave anything in it for the next one."""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read no bytes."""
        return 0

    def fileno(self) -> int:
        """The descriptor that holds nothing either."""
        return 0


class Entry:
    """Standard input, from run to run.

    Args:
        folder: where a file may hold it; None where nothing can be written. There a pipe does while there is room in
            it, and beyond that a file that the host encloses.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._empty = _text(io.BufferedReader(Nothing()))
        self._held: tuple[int, int] | None = None
        self.enclosed: list[int] = []
        """The descriptor of a file with the data of the run that begins, where the host sent one."""

    def begin(self, data: bytes) -> io.TextIOWrapper:
        """The text face of `data`, which is at descriptor 0 until `end`."""
        if not data:
            if not _usable(self._empty):
                self._empty = _text(io.BufferedReader(Nothing()))
            return self._empty
        enclosed, self.enclosed = self.enclosed, []
        try:
            if not _is_free():
                for descriptor in enclosed:
                    os.close(descriptor)
                return _text(io.BytesIO(data))
            if enclosed:
                (source,) = enclosed
            else:
                source = _piped(data) if self._folder is None else _stored(data, self._folder)
            _put(source)
            self._held = _mark()
            return _text(io.BufferedReader(io.FileIO(0, closefd=False)))
        except Exception:  # no room for it, or the program has put others in the place of what is called here
            return _text(io.BytesIO(data))

    def end(self) -> None:
        """Leave nothing for the next run."""
        if self._held is None:
            return
        held, self._held = self._held, None
        try:
            if _mark() not in (held, None):
                return  # the program has opened something in its place
            _put(os.open(_NULL, os.O_RDONLY))
        except Exception:
            return  # it has every descriptor, or has put others in the place of what is called here


def _put(source: int) -> None:
    """Make a descriptor number 0, which may be what it is already."""
    if source:
        os.dup2(source, 0)
        os.close(source)
    else:
        os.set_inheritable(0, True)


def _text(beneath: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(cast(Any, beneath), "utf-8", "replace")


def _usable(text: io.TextIOWrapper) -> bool:
    try:
        return not text.closed and not text.__dict__
    except ValueError:
        return False


def _is_free() -> bool:
    """Whether nothing that a program has opened is at descriptor 0."""
    try:
        return stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:
        return True


def _mark() -> tuple[int, int] | None:
    """Which file is at descriptor 0; None: it is closed."""
    try:
        about = os.fstat(0)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _stored(data: bytes, folder: str) -> int:
    """The descriptor of a nameless file. Raises OSError: there is no room for it."""
    descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _piped(data: bytes) -> int:
    """The descriptor of a pipe that has it. Raises OSError: there is no room for it."""
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if os.write(write, data) < len(data):
            raise BlockingIOError
        os.set_blocking(read, True)
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
    return read
