"""Run coroutines from blocking code, on an event loop that a thread keeps."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_local = threading.local()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of `coroutine`, run on this thread's own loop.

    Where a loop is running in this thread already (a notebook), another thread's loop runs it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _loop().run_until_complete(coroutine)
    return asyncio.run_coroutine_threadsafe(coroutine, _background()).result()


def _loop() -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop | None = getattr(_local, "loop", None)
    if loop is None or loop.is_closed() or _local.pid != os.getpid():
        loop, _local.pid = asyncio.new_event_loop(), os.getpid()
        _local.loop = loop
    return loop


_lock = threading.Lock()
_shared: dict[int, asyncio.AbstractEventLoop] = {}


def _background() -> asyncio.AbstractEventLoop:
    with _lock:
        if os.getpid() not in _shared:
            loop = _shared[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="toolenvs-loop", daemon=True).start()
        return _shared[os.getpid()]
