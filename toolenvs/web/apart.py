"""Pages of the live web are read in a process apart, which is killed where a page takes too long or too much memory.

A page may be made so that every parser needs minutes for its two megabytes, and no thread can be stopped. The processes
are lent to one page at a time, started when they are first needed, and end with this one.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from toolenvs.errors import WebError
from toolenvs.per_process import PerProcess
from toolenvs.web.document import Document
from toolenvs.web.faults import Fault
from toolenvs.web.render import MAX_BYTES, child, packing

GRACE_S = 0.2
"""After the deadline of the action, for a page that came at its last moment."""
MEMORY_MB = 1_024
"""Address space of a process; an honest page of the largest size needs a tenth of it."""
START_TIMEOUT_S = 60.0
_PACKAGE = Path(__file__).resolve().parents[1]
_BOOT = f"""
import sys, types
package = types.ModuleType("toolenvs")  # not the real one, which registers every page
package.__path__ = [{str(_PACKAGE)!r}]
sys.modules["toolenvs"] = package
from toolenvs.web.render import child
child.main(int(sys.argv[1]), int(sys.argv[2]))
"""


class Worker:
    """One process."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            WebError: it does not start.
        """
        self._channel, other = socket.socketpair()
        with other:
            command = [sys.executable, "-c", _BOOT, str(other.fileno()), str(MEMORY_MB)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = subprocess.Popen(
                command, pass_fds=(other.fileno(),), stdin=subprocess.DEVNULL, env=environment, start_new_session=True
            )
        self._channel.settimeout(START_TIMEOUT_S)
        with contextlib.suppress(TimeoutError):
            if child.receive(self._channel) is not None:
                return
        self.end()
        raise WebError(f"the process that reads pages of the live web does not start: {sys.executable} -c ...")

    def render(self, head: dict[str, Any], body: bytes) -> dict[str, Any] | None:
        """The answer to a request; None where the process ended over it.

        Raises:
            TimeoutError: there is none in time.
        """
        until = time.monotonic() + head["timeout_s"]
        try:
            self._channel.settimeout(max(head["timeout_s"], 0.001))
            child.send(self._channel, head, body)
            self._channel.settimeout(max(until - time.monotonic(), 0.001))
            answer = child.receive(self._channel)
        except ConnectionError:
            return None
        return None if answer is None else answer[0]

    def end(self) -> None:
        """Kill it."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def ended_by_timer(self) -> bool:
        """Whether its own timer has ended it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0) == -signal.SIGALRM
        return False


class Renderer:
    """A few processes, which all live episodes of this one share."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        size = min(max(os.cpu_count() or 1, 2), 4)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="toolenvs-web-render")
        self._idle: list[Worker] = []
        self._changed = threading.Condition()
        self._starting = False
        self._closed = False

    def prepare(self) -> None:
        """Have a process started, where none waits for a page: while that is loaded, and in place of one that ended."""
        with self._changed:
            if self._idle or self._starting or self._closed:
                return
            self._starting = True
        threading.Thread(target=self._start, name="toolenvs-web-render-start", daemon=True).start()

    def _start(self) -> None:
        worker = None
        try:
            with contextlib.suppress(WebError):  # which the page that needs it will be told
                worker = Worker()
        finally:
            with self._changed:
                self._starting = False
                if worker is not None and not self._closed:
                    self._idle.append(worker)
                self._changed.notify_all()
        if worker is not None and self._closed:
            worker.end()

    async def render(
        self, body: bytes | str, *, url: str, content_type: str, timeout_s: float, max_bytes: int = MAX_BYTES
    ) -> Document:
        """As `toolenvs.web.render.render`. Time spent in waiting for a free process is not counted.

        Raises:
            Fault: timeout or too_large.
            WebError: no process can be started.
        """
        decoded = isinstance(body, str)
        sent = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        head = {
            "url": url, "content_type": content_type, "max_bytes": max_bytes, "decoded": decoded,
            "timeout_s": timeout_s + GRACE_S,
        }  # fmt: skip
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._render, head, sent)

    def _render(self, head: dict[str, Any], body: bytes) -> Document:
        with self._changed:
            while not self._idle and self._starting:
                self._changed.wait(START_TIMEOUT_S)
            worker = self._idle.pop() if self._idle else None
        answer, used_s = None, 0.0
        if worker is not None:
            started_s = time.monotonic()
            answer = self._answer(worker, head, body)  # None too where it was killed while nobody used it
            used_s = time.monotonic() - started_s
        if answer is None:
            answer = self._answer(Worker(), {**head, "timeout_s": head["timeout_s"] - used_s}, body)
        if answer is None or "document" not in answer:
            told = "the page needs more memory to be read than a page may use: open another page"
            raise Fault("too_large", told, url=head["url"])
        return packing.read(answer["document"])

    def _answer(self, worker: Worker, head: dict[str, Any], body: bytes) -> dict[str, Any] | None:
        try:
            answer = worker.render(head, body)
        except TimeoutError:
            worker.end()
            self.prepare()
            raise _too_long(head) from None
        if answer is None:
            late = worker.ended_by_timer()
            worker.end()
            if late:
                raise _too_long(head)
        elif answer["last"] or self._closed:
            worker.end()
        else:
            with self._changed:
                self._idle.append(worker)
                self._changed.notify()
        return answer

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown(wait=False)
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()


def _too_long(head: dict[str, Any]) -> Fault:
    return Fault("timeout", "the page is made so that reading it takes too long: open another page", url=head["url"])


_shared: "PerProcess[Renderer]" = PerProcess()


def renderer() -> Renderer:
    """The one of this process; a forked child gets its own."""
    return _shared.get("", Renderer)
