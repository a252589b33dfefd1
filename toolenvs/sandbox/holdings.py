"""What an interpreter holds beside its memory: what a copy of it can have too, and what makes a copy impossible.

Two processes that share an open file share its position: where one seeks, the other reads. So a file that is only read,
such as a font of matplotlib, is opened once more for the copy. Nothing else that is open can be had twice.
"""

import _thread
import errno
import fcntl
import os
import resource
import stat

_HERE = "/proc/self/fd"
FILES, THREADS = "the program holds open files", "the program holds threads"
REFUSALS = {
    errno.EBUSY: THREADS,  # says the fork server, which sees those that are not Python's too
    errno.EAGAIN: "it and its copies have as many processes as they may have (`processes`)",
}
"""Why a fork failed, by its error."""


class HeldError(Exception):
    """Why no faithful copy can be made."""


def reopened(above: int, expected: set[int], folder: str | None) -> list[tuple[int, int]]:
    """Each file that is open, with a second descriptor of it at the same position.

    Args:
        above: descriptors up to this one do not count.
        expected: others that do not.
        folder: the working directory; None where nothing can be written.

    Raises:
        HeldError: something cannot be had twice. Threads that are not Python's are for the fork server to see.
    """
    if _thread._count():
        raise HeldError(THREADS)
    pairs: list[tuple[int, int]] = []
    try:
        for held in _open(above):
            if held not in expected:
                pairs.append((held, _once_more(held)))
        if folder is not None and any(map(_is_written, os.listdir("."))):
            raise HeldError("the program has written files")
    except OSError as error:
        close(pairs)
        raise HeldError(FILES) from error
    except HeldError:
        close(pairs)
        raise
    return pairs


def close(pairs: list[tuple[int, int]]) -> None:
    """In the original: let go of what the copy has now."""
    for _, other in pairs:
        os.close(other)


def take_over(pairs: list[tuple[int, int]]) -> None:
    """In the copy: put each second descriptor in the place of the first."""
    for held, other in pairs:
        os.dup2(other, held, os.get_inheritable(held))
        os.close(other)


def _once_more(held: int) -> int:
    """Raises OSError: it is no file that is only read, or there is no room for more."""
    flags = fcntl.fcntl(held, fcntl.F_GETFL)
    if not stat.S_ISREG(os.fstat(held).st_mode) or flags & (os.O_ACCMODE | os.O_PATH) != os.O_RDONLY:
        raise OSError("no file that is only read")
    other = os.open(f"{_HERE}/{held}", os.O_RDONLY)
    try:
        os.lseek(other, os.lseek(held, 0, os.SEEK_CUR), os.SEEK_SET)
    except OSError:
        os.close(other)
        raise
    return other


def _open(above: int) -> list[int]:
    """Descriptors above that one which are open now."""
    try:
        numbers = [number for number in map(int, os.listdir(_HERE)) if number > above]
    except OSError:  # the fork tier lets no program list /proc
        numbers = list(range(above + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    return list(filter(_is_open, numbers))


def _is_open(descriptor: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_GETFD)
    except OSError:
        return False
    return True


def _is_written(name: str) -> bool:
    return not name.startswith(".") and not os.path.ismount(name)  # see Walls.around_cell
