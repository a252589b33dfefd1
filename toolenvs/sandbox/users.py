"""User ids for the cells of this machine: no two that live at one time have the same, whoever opened their box."""

import errno
import os
import socket

from toolenvs.errors import SandboxError

FIRST_OFFSET = 256
"""Ids below the page's `unprivileged_uid` plus this belong to fork servers and to the weaker tiers."""
_END = 65_534  # "nobody", and what lies above, are not ours
_BLOCK = 64


def span(unprivileged_uid: int) -> tuple[int, int]:
    """The first id that a cell may have, and how many there are."""
    first = unprivileged_uid + FIRST_OFFSET
    return first, max(_END - first, _BLOCK)


class Users:
    """Ids that one box has leased. A lease is an abstract socket's name, which ends with whoever holds it."""

    def __init__(self, unprivileged_uid: int) -> None:
        self._first, self._count = span(unprivileged_uid)
        self._blocks: list[int] = []
        self._leases: list[socket.socket] = []

    def number(self, index: int) -> int:
        """The id for slot `index` of the box.

        Raises:
            SandboxError: all are taken.
        """
        while index >= len(self._blocks) * _BLOCK:
            self._lease()
        return self._blocks[index // _BLOCK] + index % _BLOCK

    def close(self) -> None:
        """Give all leases back."""
        for lease in self._leases:
            lease.close()
        self._leases = []

    def _lease(self) -> None:
        for block in range(self._first, self._first + self._count - _BLOCK + 1, _BLOCK):
            lease = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lease.bind(f"\0toolenvs-users-{os.getuid()}-{block}")
            except OSError as error:
                lease.close()
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            self._leases.append(lease)
            self._blocks.append(block)
            return
        raise SandboxError(
            f"no user ids are left between {self._first} and {self._first + self._count - 1}: other sandboxes on this "
            "machine have them; close some, or set `unprivileged_uid`"
        )
