"""llm-sandbox over Docker, one container a session, with the image of toolenvs' own backend; see worker.py."""

import os
from importlib.metadata import version
from typing import Any

import docker
from llm_sandbox import SandboxSession
from llm_sandbox.exceptions import SandboxTimeoutError

VERSIONS = {"llm-sandbox": version("llm-sandbox")}
LABEL = "toolenvs.benchmark"  # its value is this file's name


class Backend:
    def __init__(self, variant: str) -> None:
        self._client = docker.from_env()

    def session(self) -> "Session":
        return Session(self._client)

    def close(self) -> None:
        self._client.close()


class Session:
    def __init__(self, client: Any) -> None:
        self._client, self._session = client, None

    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        if self._session is None:
            self._session = SandboxSession(
                client=self._client,
                image=os.environ["BENCHMARK_IMAGE"],
                lang="python",
                skip_environment_setup=True,
                runtime_configs={"network_mode": "none", "labels": {LABEL: "llm_sandbox"}},
            )
            self._session.open()
        try:
            done = self._session.run(code, timeout=timeout_s)
        except SandboxTimeoutError:
            return "timeout", ""
        return ("ok" if done.exit_code == 0 else "error"), done.stdout + done.stderr

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
