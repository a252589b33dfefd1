"""A Jupyter kernel, driven by jupyter_client's blocking client; see worker.py."""

import queue
import time
from importlib.metadata import version
from typing import Any

from jupyter_client.manager import start_new_kernel

VERSIONS = {name: version(name) for name in ("jupyter_client", "ipykernel")}
INTERRUPT_S = 1.0
"""Between the interrupt that a program may answer and the kill that it may not."""


class Backend:
    def __init__(self, variant: str) -> None:
        pass

    def session(self) -> "Session":
        return Session()

    def close(self) -> None:
        pass


class Session:
    def __init__(self) -> None:
        self._kernel: Any = None
        self._client: Any = None

    def _start(self) -> None:
        self._kernel, self._client = start_new_kernel(kernel_name="python3", startup_timeout=120)

    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        if self._kernel is None:
            self._start()
        pieces: list[str] = []

        def show(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                pieces.append(content["text"])
            elif message["msg_type"] == "execute_result":
                pieces.append(content["data"].get("text/plain", ""))
            elif message["msg_type"] == "error":
                pieces.append("\n".join(content["traceback"]))

        try:
            answer = self._execute(code, timeout_s, show)
        except TimeoutError:
            self._kernel.interrupt_kernel()
            try:
                self._client._recv_reply(self._last, timeout=INTERRUPT_S)
            except (TimeoutError, queue.Empty):
                self.close()
            return "timeout", "".join(pieces)
        if answer is None:
            self.close()
            return "crashed", "".join(pieces)
        return ("ok" if answer == "ok" else "error"), "".join(pieces)

    def _execute(self, code: str, timeout_s: float, show: Any) -> str | None:
        """The status that the kernel gives, None when it is dead."""
        client = self._client
        self._last = client.execute(code, allow_stdin=False)
        deadline_s = time.monotonic() + timeout_s
        while True:  # until it is idle again
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            try:
                message = client.get_iopub_msg(timeout=min(left_s, 0.5))
            except queue.Empty:
                if not self._kernel.is_alive():
                    return None
                continue
            if message["parent_header"].get("msg_id") != self._last:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
            show(message)
        reply = client._recv_reply(self._last, timeout=5)
        return str(reply["content"]["status"])

    def close(self) -> None:
        if self._kernel is not None:
            self._client.stop_channels()
            self._kernel.shutdown_kernel(now=True)
            self._kernel = None
