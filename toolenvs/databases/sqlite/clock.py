"""SQLite's own clock, made to say what it is told, in all of this process.

SQLite asks the layer between it and the operating system for the time, once in a run of a statement
(`xCurrentTimeInt64` of https://sqlite.org/c3ref/vfs.html), and computes all else about dates from that. So its own
functions stay in use, which take a third of the time of functions in Python.
"""

import ctypes
import functools
import sqlite3

DAY_MS = 86_400_000
_SINCE = 2
"""The version of the layer from which it is asked for milliseconds."""
_POINTERS = (
    "xOpen xDelete xAccess xFullPathname xDlOpen xDlError xDlSym xDlClose xRandomness xSleep xCurrentTime xGetLastError"
)
_Tell = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))
_now_ms: int | None = None


class _Layer(ctypes.Structure):
    _fields_ = (
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("zName", ctypes.c_char_p),
        ("pAppData", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _POINTERS.split()),
        ("xCurrentTimeInt64", ctypes.c_void_p),
    )


def _told(layer: int, now_ms: "ctypes._Pointer[ctypes.c_int64]") -> int:
    now_ms[0] = _now_ms or 0
    return int(_now_ms is None)


_TOLD = _Tell(_told)


@functools.cache
def stopped() -> bool:
    """Stop it, for good; False where this build of SQLite lets nobody do that."""
    import _sqlite3

    try:
        library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        find = library.sqlite3_vfs_find
    except (AttributeError, OSError):  # it is part of Python, and hides its names
        return False
    find.argtypes, find.restype = [ctypes.c_char_p], ctypes.POINTER(_Layer)
    layer = find(None).contents
    if layer.iVersion < _SINCE:
        return False
    before = layer.xCurrentTimeInt64
    layer.xCurrentTimeInt64 = ctypes.cast(_TOLD, ctypes.c_void_p)
    if all(_says(days) for days in (2_451_545, 2_460_676)):
        return True
    layer.xCurrentTimeInt64 = before
    return False


def _says(days: int) -> bool:
    tell(days)
    connection = sqlite3.connect(":memory:")
    try:
        return bool(connection.execute("SELECT julianday('now')").fetchone()[0] == days)
    finally:
        connection.close()
        tell(None)


def tell(days: float | None) -> None:
    """What it says from now on, as a Julian day number; None: it does not know, and what asks for it gives NULL."""
    global _now_ms
    _now_ms = None if days is None else round(days * DAY_MS)
