"""The sandbox of toolenvs; see worker.py. A variant is a place and a manner: "namespace session" or the like."""

from functools import partial
from typing import Any

import toolenvs
from toolenvs import sandbox

VERSIONS = {"toolenvs": toolenvs.__version__}


class Backend:
    def __init__(self, variant: str) -> None:
        place, self._manner = variant.split()
        self.box: Any = sandbox.open("docker") if place == "docker" else sandbox.open("local", tier=place)

    def session(self) -> "Session":
        return Session(self.box, self._manner == "session")

    def close(self) -> None:
        self.box.close()


class Session:
    def __init__(self, box: Any, stateful: bool) -> None:
        self._session = box.session() if stateful else None
        self._run = self._session.run if self._session else partial(box.run)

    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        result = self._run(code, timeout_s=timeout_s)
        status = {"ok": "ok", "error": "error", "memory": "error", "timeout": "timeout"}.get(result.status, "crashed")
        return status, f"{result.stdout}{result.stderr}{result.value or ''}{result.error or ''}"

    def close(self) -> None:
        if self._session:
            self._session.close()
