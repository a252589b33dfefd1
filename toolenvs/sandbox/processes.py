"""What the fork server asks /proc about its cells, by a view of its own: cells do not see each other in theirs."""

import os

_folder = "/proc"


def look_through(descriptor: int) -> None:
    """From now on look through an open folder of a proc file system."""
    global _folder
    _folder = f"/proc/self/fd/{descriptor}"


def numbers() -> list[int]:
    """The processes that there are. Raises OSError: there is no /proc."""
    return list(map(int, filter(str.isdigit, os.listdir(_folder))))


def fields(pid: int) -> list[bytes]:
    """What `stat` tells about a process behind its name, its state first.

    Raises:
        OSError: it has gone, or there is no /proc.
    """
    with open(f"{_folder}/{pid}/stat", "rb") as stat:  # a program names itself, with any bytes
        return stat.read().rpartition(b")")[2].split()


def threads(pid: int) -> int:
    """How many threads a process has. Raises OSError: it has gone, or there is no /proc."""
    return len(os.listdir(f"{_folder}/{pid}/task"))
