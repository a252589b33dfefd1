"""`python -c` in a child process with a time limit, as most tools do it; see worker.py."""

import platform
import subprocess
import sys

VERSIONS = {"python": platform.python_version()}


class Backend:
    def __init__(self, variant: str) -> None:
        pass

    def session(self) -> "Session":
        return Session()

    def close(self) -> None:
        pass


class Session:
    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        command = [sys.executable, "-c", code]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout_s
            )
        except subprocess.TimeoutExpired as error:
            return "timeout", (error.stdout or b"").decode("utf-8", "replace")
        return {0: "ok"}.get(done.returncode, "crashed" if done.returncode < 0 else "error"), done.stdout + done.stderr

    def close(self) -> None:
        pass
