"""One event loop in a thread that all connections of this process live in: callers come from any loop, or from none."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
NAME = "toolenvs-web"
"""Of the thread."""
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def loop() -> asyncio.AbstractEventLoop:
    """The loop; a forked child gets its own."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name=NAME, daemon=True).start()
        return _loop


def running() -> asyncio.AbstractEventLoop | None:
    """The loop, where this process has used it."""
    return _loop


async def there(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that runs on the loop; cancelling the wait cancels it."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop()))


def _after_fork() -> None:
    """Threads stay behind in a fork, and another one may have held the lock."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)
