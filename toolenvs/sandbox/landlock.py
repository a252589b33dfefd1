"""Landlock: which files a cell may read, no TCP, no signals and no abstract sockets beyond the cell.

A rule set is built once by the fork server; each cell enters it in one call, and so gets a domain of its own.
"""

import ctypes
import os
import struct
from collections.abc import Iterable

from toolenvs.sandbox import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_FILES_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # + refer, truncate, ioctl
_NET_SINCE_ABI, _SCOPES_SINCE_ABI = 4, 6
TRUNCATE_SINCE_ABI = 3
_VERSION_FLAG = 1
_PATH_BENEATH = 1


def abi() -> int:
    """The kernel's version of the interface; 0 without Landlock."""
    try:
        return kernel.syscall("landlock_create_ruleset", None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def ruleset(rules: Iterable[tuple[str, int]], *, files: bool = True) -> int:
    """The descriptor of a new rule set.

    Args:
        rules: paths and what is allowed beneath them; a path that is not there is passed over.
        files: govern files too; without, only networking and scopes (0 is returned when the kernel has neither).
    """
    version = abi()
    governed = max((bits for since, bits in _FILES_BY_ABI.items() if since <= version), default=0) if files else 0
    net = 3 if version >= _NET_SINCE_ABI else 0
    scopes = 3 if version >= _SCOPES_SINCE_ABI else 0
    if not (governed or net or scopes):
        return 0
    attribute = struct.pack("QQQ", governed, net, scopes)
    size = 24 if version >= _SCOPES_SINCE_ABI else 16 if version >= _NET_SINCE_ABI else 8
    descriptor = kernel.syscall("landlock_create_ruleset", ctypes.create_string_buffer(attribute[:size], size), size, 0)
    for path, access in rules:
        try:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if not os.path.isdir(path):
            access &= EXECUTE | WRITE_FILE | READ_FILE
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access & governed, beneath), 12)
        kernel.syscall("landlock_add_rule", descriptor, _PATH_BENEATH, rule, 0)
        os.close(beneath)
    return descriptor


def enter(descriptor: int) -> None:
    """Enter a rule set for good."""
    kernel.syscall("landlock_restrict_self", descriptor, 0)
