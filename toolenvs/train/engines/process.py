"""`EngineProcess`: an engine of another interpreter, whose packages need not fit the trainer's."""

import atexit
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import toolenvs
from toolenvs.agents.engine import GenerateRequest, Generation
from toolenvs.errors import EngineError
from toolenvs.train.engines.remote import TOKEN as TOKEN
from toolenvs.train.engines.remote import RemoteEngine

_SERVER = "toolenvs.serve.engine"
_TORCHRUN = {
    *("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"),
    *("ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT"),
}
_END_S = 75.0
"""How long the process gets to end; what is killed leaves shared memory behind."""


class EngineProcess(RemoteEngine):
    """Starts `toolenvs.serve.engine` with an interpreter, and asks it over this machine's loopback.

    It ends with its owner, however that ends. Ctrl-C reaches the owner only.

    Args:
        model: a model folder, or a name on the hub.
        engine: its name, such as "vllm".
        python: the interpreter; "" for this one. It needs `toolenvs[serve]`, or what vLLM brings, and gymnasium.
        options: of the engine's class.
        start_s: wall-clock seconds that starting may take.
        timeout_s: wall-clock seconds after which a request that was not answered has failed.

    Raises:
        EngineError: it did not start.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        engine: str = "vllm",
        python: str = "",
        options: Mapping[str, Any] | None = None,
        start_s: float = 600.0,
        timeout_s: float = 600.0,
    ) -> None:
        self._command = [
            python or sys.executable,
            *("-m", _SERVER, "--engine", engine, "--model", str(model), "--port", "0", "--owned"),
            *("--options", json.dumps(dict(options or {}))),
        ]
        self._start_s = start_s
        self._folder = Path(tempfile.mkdtemp(prefix="toolenvs-engine-"))
        self._pid = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._secret = secrets.token_urlsafe(24)
        atexit.register(self.close)
        try:
            super().__init__(self._start(), token=self._secret, timeout_s=timeout_s)
        except BaseException:
            atexit.unregister(self.close)
            self._end()
            raise

    @property
    def pid(self) -> int | None:
        """Of the process; None where none runs."""
        return None if self._process is None else self._process.pid

    def _start(self) -> str:
        ready = self._folder / "ready"
        ready.unlink(missing_ok=True)
        home = str(Path(toolenvs.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        try:
            with (self._folder / "log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*self._command, "--ready", str(ready)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env={**environment_of_child(os.environ), "PYTHONPATH": path, TOKEN: self._secret},
                    start_new_session=True,  # Ctrl-C is for the owner
                )
        except OSError as error:
            raise EngineError(f"the engine's interpreter {self._command[0]!r} cannot be run: {error}") from error
        give_up = time.monotonic() + self._start_s
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > give_up:
                words = self._last_words()
                self._end_process()
                raise EngineError(f"the engine's process did not start: {words}")
            time.sleep(0.05)
        return ready.read_text("utf-8")

    async def _continue(self, request: GenerateRequest) -> Generation:
        try:
            return await super()._continue(request)
        except EngineError as error:
            raise self._told(error) from error

    def _told(self, error: EngineError) -> EngineError:
        """The error, with the process's last words where it is dead."""
        if self._process is not None and self._process.poll() is None:
            return error
        return EngineError(f"the engine's process died: {self._last_words()}")

    def push_file(self, path: Path, version: int) -> None:
        """As `push_weights`, from a file; a process that died is started anew first.

        Raises:
            EngineError: a request is being answered, or the process does not start or fails.
        """
        self._refuse_in_flight()
        if not self.alive():
            self._end_process()
            url = self._start()
            self._url = url
            self._client.base_url = url
        super().push_file(path, version)

    def alive(self) -> bool:
        """Whether the process runs, and its engine can answer."""
        return self._process is not None and self._process.poll() is None and super().alive()

    def close(self) -> None:
        """End the process, and wait until it has. A second call does nothing."""
        if os.getpid() != self._pid:  # a forked child: the engine is its parent's
            return
        atexit.unregister(self.close)
        super().close()
        self._end()

    def _end(self) -> None:
        self._end_process()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()  # it ends by itself
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        # What it started and could not end, as when it was killed; they are one session.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _last_words(self) -> str:
        try:
            text = (self._folder / "log").read_text("utf-8", "replace")
        except OSError:
            return "it was closed"
        return " ".join(text.split())[-1000:] or "it left no message"


def environment_of_child(own: Mapping[str, str]) -> dict[str, str]:
    """An environment without what torchrun says in it, as an engine is none of its processes.

    Where several processes train on one machine, each has a GPU, and its engine sees that one only.
    """
    kept = {name: value for name, value in own.items() if name not in _TORCHRUN and not name.startswith("TORCHELASTIC")}
    if int(own.get("LOCAL_WORLD_SIZE", "1")) > 1:
        number = int(own["LOCAL_RANK"])
        seen = [gpu for gpu in own.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
        kept["CUDA_VISIBLE_DEVICES"] = seen[number] if number < len(seen) else str(number)
    return kept
