"""An engine to test with: the one that DOCKER_HOST names, else one of our own, started here and ended after the tests.

An engine that already runs on this machine is never touched unless DOCKER_HOST names it. Where there can be none, the
tests are skipped, and the end of pytest's report says so in a line of its own.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from toolenvs.errors import SandboxError
from toolenvs.sandbox.docker.box import DockerBox
from toolenvs.sandbox.docker.build import build
from toolenvs.sandbox.docker.engine import Engine

IMAGE = "toolenvs-sandbox-test:latest"
_PACKAGES = ["docker.io", "containerd", "runc"]
_TO_DRAW = "matplotlib contourpy cycler fonttools kiwisolver packaging pillow pyparsing python-dateutil six".split()  # noqa: SIM905
_UP_LIMIT_S = 60.0
_untested: list[str] = []


class Running(NamedTuple):
    """The engine under test."""

    address: str
    tcp: str | None
    """The same over TCP, for one of our own."""


class NoEngineError(Exception):
    """Why there is none."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in _untested:
        terminalreporter.write_line(f"WARNING: the docker sandbox was NOT tested: {reason}", yellow=True, bold=True)


@pytest.fixture(scope="session")
def engine() -> Iterator[Running]:
    """The engine under test, with the image in it; DOCKER_HOST names it while this lives."""
    given = os.environ.get("DOCKER_HOST")
    ours = None
    with pytest.MonkeyPatch.context() as patch:
        try:
            if not given:
                ours = _Ours()
                patch.setenv("DOCKER_HOST", ours.running.address)
            try:
                build(IMAGE, ["numpy", "sympy", "mpmath", *_TO_DRAW])  # what the tests import: it is there sooner
            except SandboxError as error:
                raise NoEngineError(str(error)) from error
            yield ours.running if ours else Running(given, None)
        except NoEngineError as reason:
            _untested.append(str(reason))
            pytest.skip(f"no engine to test with: {reason}")
        finally:
            if ours:
                ours.stop()


@pytest.fixture(scope="module")
def box(engine: Running) -> Iterator[DockerBox]:
    with DockerBox(image=IMAGE) as opened:
        yield opened


@pytest.fixture
def sdk(engine: Running) -> Iterator[Engine]:
    opened = Engine()
    yield opened
    opened.close()


def sibling(name: str) -> ModuleType:
    """A test module of the local backend, for what both backends promise."""
    path = Path(__file__).parents[1] / f"{name}.py"
    specification = importlib.util.spec_from_file_location(f"sandbox_{name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class _Ours:
    """An engine with folders of its own, without networks or rules of a firewall."""

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise NoEngineError("DOCKER_HOST is not set, and only root can start an engine")
        _install()
        self._folder = Path(tempfile.mkdtemp(prefix="toolenvs-docker-"))
        self._group = f"{_memory_group()}/toolenvs-docker-{os.getpid()}"
        socket, port = self._folder / "socket", _free_port()
        self.running = Running(f"unix://{socket}", f"tcp://127.0.0.1:{port}")
        flags = {
            "data-root": self._folder / "data",
            "exec-root": self._folder / "exec",
            "pidfile": self._folder / "pid",
            "config-file": self._folder / "none.json",
            "storage-driver": "overlay2",
            "iptables": "false",
            "ip6tables": "false",
            "bridge": "none",
            "exec-opt": "native.cgroupdriver=cgroupfs",
            "cgroup-parent": self._group,
        }
        (self._folder / "none.json").write_text("{}")
        command = ["dockerd", *(f"--{name}={value}" for name, value in flags.items())]
        hosts = [f"--host={address}" for address in self.running]
        with open(self._folder / "log", "wb") as log:
            self._process = subprocess.Popen(command + hosts, stdout=log, stderr=log, start_new_session=True)
        deadline_s = time.monotonic() + _UP_LIMIT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                said = (self._folder / "log").read_text("utf-8", "replace").strip().rpartition("\n")[2]
                self.stop()
                raise NoEngineError(f"dockerd does not start here: {said}")
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        for group in Path("/sys/fs/cgroup").glob(f"*{self._group}"):
            group.rmdir()

    def _answers(self) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", self.running.address)
            try:
                Engine().close()
            except SandboxError:
                return False
        return True


def _install() -> None:
    """Debian's engine, unless there is one; never where a service manager would start it, or other parts of it are."""
    if shutil.which("dockerd"):
        return
    if shutil.which("containerd") or not shutil.which("apt-get") or os.path.exists("/run/systemd/system"):
        raise NoEngineError(f"there is no dockerd: install {' '.join(_PACKAGES)}, or set DOCKER_HOST")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *_PACKAGES]):
        done = subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise NoEngineError(f"apt-get cannot install {' '.join(_PACKAGES)}: {done.stderr.strip()[-300:]}")


def _memory_group() -> str:
    """The group that accounts for this process's memory: containers belong below it."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return path.rstrip("/")
    return ""


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
