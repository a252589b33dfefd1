"""What need not keep a caller waiting is done after its answer, in a thread of its own."""

import contextlib
import queue
import threading
from collections.abc import Callable


class Afterwards:
    """Does jobs in the order of their coming. Thread-safe; the thread starts with the first job."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._state = "new"  # then "running", then "closed"

    def do(self, job: Callable[[], None]) -> None:
        """Do `job` soon; at once where no thread can be had. It must not raise."""
        with self._lock:
            if self._state == "new":
                with contextlib.suppress(RuntimeError):
                    threading.Thread(target=self._work, name="sandbox-afterwards", daemon=True).start()
                    self._state = "running"
            if self._state == "running":
                self._jobs.put(job)
                return
        job()

    def close(self) -> None:
        """Do what is left in this thread, and end the other one."""
        with self._lock:
            running, self._state = self._state == "running", "closed"
        if running:
            self._jobs.put(None)
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is None:
                    self._jobs.put(None)
                    return
                job()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job()
            del job  # or it is kept, with all that it holds, until the next one comes
