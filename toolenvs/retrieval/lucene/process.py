"""The client's side of the process that holds the Java machine: start it, ask it, start it again when it died."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from toolenvs.errors import RetrievalError
from toolenvs.retrieval.lucene import java, server

_START_S = 120.0


class _Connection(socket.socket):
    """Closed when the thread that it belongs to ends."""

    def __del__(self) -> None:
        self.close()


class JavaProcess:
    """One Java machine over one Lucene index, in a process of its own.

    A forked child of this process asks the same machine through a connection of its own; only the process that made
    this object starts, restarts and ends it.
    """

    def __init__(self, index: Path, *, jar: Path, home: Path, k1: float, b: float, heap: str, timeout_s: float) -> None:
        java.check(home, jar)
        self._arguments = [str(jar), str(index), str(k1), str(b), heap]
        self._environment = {**os.environ, "JAVA_HOME": str(home)}
        self._timeout_s = timeout_s
        self._owner = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="toolenvs-lucene-"))
        self._socket = self._folder / "socket"
        self._lock = threading.Lock()
        self._local = threading.local()
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        os.register_at_fork(after_in_child=self._renew_lock)

    @property
    def pid(self) -> int | None:
        """Of the process with the Java machine, where this process owns it."""
        return self._process.pid if self._process is not None else None

    def ask(self, message: dict[str, Any]) -> Any:
        """What the machine answers. One that died is started again, once.

        Raises:
            RetrievalError: it died twice, took longer than `timeout_s`, or Lucene raised an error.
        """
        for attempt in (1, 2):
            started = self._started
            try:
                connection = self._connection()
                server.write(connection, message)
                reply = server.read(connection)
                if reply is None:
                    raise ConnectionResetError("it closed the connection")
                break
            except TimeoutError:
                self._drop()
                raise RetrievalError(
                    f"Lucene did not answer within {self._timeout_s:g} s: ask for fewer queries at once, or give "
                    "retrieval.open a larger timeout_s"
                ) from None
            except OSError as error:
                self._drop()
                if attempt == 2 or os.getpid() != self._owner or self._closed:
                    raise RetrievalError(f"the Java process of Lucene died ({error}): {self._last_words()}") from error
                self._restart(started)
        if "error" in reply:
            raise RetrievalError(f"Lucene: {reply['error']}")
        return reply["value"]

    def close(self) -> None:
        """End the machine, if this process owns it."""
        self._drop()
        if os.getpid() == self._owner:
            with self._lock:
                self._end()
                shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _closed(self) -> bool:
        return not self._folder.exists()

    def _connection(self) -> socket.socket:
        """This thread's own, and after a fork the child's own."""
        kept: tuple[int, socket.socket] | None = getattr(self._local, "connection", None)
        if kept is not None and kept[0] == os.getpid():
            return kept[1]
        connection = _Connection(socket.AF_UNIX)
        connection.settimeout(self._timeout_s)
        self._local.connection = (os.getpid(), connection)
        connection.connect(str(self._socket))
        return connection

    def _drop(self) -> None:
        kept = getattr(self._local, "connection", None)
        self._local.connection = None
        if kept is not None:
            kept[1].close()

    def _restart(self, started: int) -> None:
        """Start a new machine in place of the one that was started as number `started`."""
        with self._lock:
            if self._process is None or self._started != started:  # closed, or another thread was first
                return
            self._end()
            self._start()

    def _start(self) -> None:
        self._socket.unlink(missing_ok=True)
        Path(f"{self._socket}.new").unlink(missing_ok=True)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, server.__file__, str(self._socket), *self._arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # Ctrl-C is for the owner
            )
        give_up = time.monotonic() + _START_S
        while not self._socket.exists():
            if self._process.poll() is not None or time.monotonic() > give_up:
                words = self._last_words()
                self._end()
                raise RetrievalError(f"the Java process of Lucene did not start: {words}")
            time.sleep(0.02)
        self._started += 1  # only now: who found the one before dead must not take this one for it

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _last_words(self) -> str:
        try:
            text = (self._folder / "log").read_text("utf-8", "replace")
        except OSError:
            return "it was closed"
        return " ".join(text.split())[-1000:] or "it left no message"

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()
