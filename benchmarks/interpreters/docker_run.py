"""A container for each program: `docker run --rm`, with the image of toolenvs' own backend; see worker.py."""

import subprocess
import uuid

from toolenvs.sandbox.docker.options import defaults

VERSIONS = {
    "docker": subprocess.run(["docker", "--version"], capture_output=True, text=True).stdout.split()[2].strip(",")
}
LABEL = "toolenvs.benchmark=docker_run"


class Backend:
    def __init__(self, variant: str) -> None:
        pass

    def session(self) -> "Session":
        return Session()

    def close(self) -> None:
        pass


class Session:
    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        name = f"benchmark-{uuid.uuid4().hex}"
        command = ["docker", "run", "--rm", "--network", "none", "--name", name, "--label", LABEL]
        command += [defaults().image, "python3", "-c", code]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            subprocess.run(["docker", "kill", name], capture_output=True)
            return "timeout", ""
        return {0: "ok"}.get(
            done.returncode, "crashed" if done.returncode > 128 else "error"
        ), done.stdout + done.stderr

    def close(self) -> None:
        pass
