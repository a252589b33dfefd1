"""The container engine, through its SDK: hardened containers made, found and removed."""

import contextlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError, SandboxError
from toolenvs.sandbox.docker import policy
from toolenvs.sandbox.docker.options import Options

LABEL = "toolenvs.sandbox"
"""What every container of this backend is labelled with; its value is when it was made (Unix time)."""
_DEFAULT_HOST = "unix:///var/run/docker.sock"
_REMOVE_LIMIT_S = 30.0
_ABANDONED_S = 600.0
_MB = 1 << 20
# One user to a container, out of what any engine maps: limits that the kernel keeps per user are then not shared.
_FIRST_USER, _USERS = 20_000, 40_000


class Engine:
    """One engine: the one that DOCKER_HOST names, or this machine's."""

    def __init__(self) -> None:
        """Connect.

        Raises:
            MissingExtraError: the SDK is not installed.
            SandboxError: no engine answers.
        """
        try:
            import docker
        except ImportError as error:
            raise MissingExtraError("docker", "docker", "the docker sandbox") from error
        self._errors = docker.errors
        _check_socket(os.environ.get("DOCKER_HOST") or _DEFAULT_HOST)
        try:
            self.api: Any = docker.from_env().api
            self.api.ping()
        except (docker.errors.DockerException, OSError) as error:
            raise SandboxError(f"no Docker engine answers ({error}): start one, or name it in DOCKER_HOST") from error

    def create(self, options: Options, command: list[str]) -> str:
        """A hardened container that will run `command` as an ordinary user; its id.

        Raises:
            ConfigError: there is no such image or runtime here.
            SandboxError: the engine refuses.
        """
        user = _FIRST_USER + secrets.randbelow(_USERS)
        with self._said():
            try:
                made = self.api.create_container(
                    options.image,
                    command,
                    entrypoint=[],
                    user=f"{user}:{user}",
                    stdin_open=True,
                    working_dir="/",
                    environment={"LANG": "C.UTF-8", "HOME": "/tmp"},
                    labels={LABEL: str(int(time.time()))},
                    host_config=self._hardened(options),
                )
            except self._errors.ImageNotFound as error:
                raise ConfigError(
                    f"the Docker engine has no image {options.image!r}: make it with `python -m "
                    "toolenvs.sandbox.docker.build`, or name another that has Python 3.11"
                ) from error
        return str(made["Id"])

    def attach(self, container: str) -> Any:
        """A socket to the container's standard streams."""
        with self._said():
            return self.api.attach_socket(container, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})

    def start(self, container: str) -> None:
        """Start it.

        Raises:
            SandboxError: the engine refuses.
        """
        with self._said():
            self.api.start(container)

    def pid(self, container: str) -> int:
        """The process id of the container's first process, on the engine's machine."""
        with self._said():
            return int(self.api.inspect_container(container)["State"]["Pid"])

    def remove(self, container: str) -> None:
        """Kill and remove it; nothing when it is gone. When this returns, it is.

        Raises:
            SandboxError: the engine refuses.
        """
        with self._said(), contextlib.suppress(self._errors.NotFound):
            try:
                self.api.remove_container(container, v=True, force=True)
            except self._errors.APIError as error:
                if error.status_code != 409:  # it is being removed
                    raise
                self.api.wait(container, timeout=_REMOVE_LIMIT_S, condition="removed")

    def remove_abandoned(self) -> None:
        """Remove containers of this backend that never ran, as their host ended in the middle of making them."""
        with self._said():
            found = self.api.containers(all=True, filters={"label": LABEL, "status": ["created", "exited", "dead"]})
        for container in found:
            made_s = container.get("Created") or 0
            if time.time() - made_s > _ABANDONED_S:
                with contextlib.suppress(SandboxError):
                    self.remove(container["Id"])

    def close(self) -> None:
        """Let go of the connections to the engine."""
        self.api.close()

    @cached_property
    def _cores(self) -> int:
        return int(self.api.info()["NCPU"])

    def _hardened(self, options: Options) -> Any:
        from docker.types import LogConfig, Ulimit

        memory = f"{options.container_memory_mb}m"
        file_bytes, open_files = options.tmp_mb * _MB, options.container_open_files
        limits = {"nofile": open_files, "fsize": file_bytes, "core": 0, "memlock": 0, "msgqueue": 0}
        return self.api.create_host_config(
            auto_remove=True,
            network_mode="none",
            ipc_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={policy.stored().read_text('utf-8')}"],
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=int(min(options.container_cpus, self._cores) * 1e9),
            pids_limit=options.container_processes,
            tmpfs={
                "/tmp": f"rw,noexec,nosuid,nodev,mode=1777,size={options.tmp_mb}m,nr_inodes={options.tmp_files}",
            },
            ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in limits.items()],
            log_config=LogConfig(type="none"),  # or all that programs print would fill the engine's disk
            runtime=options.runtime or None,
        )

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """Turn what the SDK raises into errors of this package."""
        try:
            yield
        except self._errors.APIError as error:
            text = str(error.explanation or error)
            kind = ConfigError if re.search(r"unknown.* runtime", text, re.IGNORECASE) else SandboxError
            raise kind(f"the Docker engine refuses: {text}") from error
        except (self._errors.DockerException, OSError) as error:
            raise SandboxError(f"the Docker engine does not answer: {error}") from error


def _check_socket(host: str) -> None:
    """Whether anybody listens at a Unix socket: the SDK would leave its own unclosed when nobody does.

    Raises:
        SandboxError: nobody does.
    """
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as trial:
            try:
                trial.connect(host.removeprefix("unix://"))
            except OSError as error:
                raise SandboxError(
                    f"no Docker engine answers at {host} ({error.strerror}): start one, or name it in DOCKER_HOST"
                ) from error
