"""A host worth attacking: a secret, a victim process, sockets; and one box per tier that works here."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from toolenvs.sandbox.base import TIERS
from toolenvs.sandbox.local import LocalBox
from toolenvs.sandbox.probe import probe

WORKING = {tier.tier for tier in probe() if tier.works}


@pytest.fixture(scope="module", params=TIERS)
def box(request: pytest.FixtureRequest) -> Iterator[LocalBox]:
    """A box of each tier; every Linux that runs these tests has to offer at least the fork tier."""
    if request.param not in WORKING:
        assert request.param != "fork", probe()
        pytest.skip(f"the {request.param} tier does not work on this machine")
    with LocalBox(tier=request.param) as opened:
        yield opened


class Host(NamedTuple):
    """What a hostile program is told about the host."""

    victim: subprocess.Popen[bytes]
    proof: Path
    fill_in: Callable[[str, LocalBox], str]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    os.chmod(folder, 0o755)
    secret, world_readable, proof, path = (folder / name for name in ("secret", "secretw", "proof", "sock"))
    secret.write_text("HOST-SECRET-42")
    secret.chmod(0o600)
    world_readable.write_text("HOST-SECRET-42")
    world_readable.chmod(0o644)
    environment = {**os.environ, "TENV_TOKEN": "hunter2"}
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "tenv-victim"], env=environment)
    listeners = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    listeners[0].bind(("127.0.0.1", 0))
    listeners[1].bind(str(path))
    decoy = f"tenv-decoy-{os.getpid()}"  # abstract names are one to a machine, and others may be testing too
    listeners[2].bind(f"\0{decoy}")
    path.chmod(0o777)
    for listener in listeners:
        listener.listen()
        threading.Thread(target=_welcome, args=(listener,), daemon=True).start()
    port = listeners[0].getsockname()[1]

    def fill_in(text: str, box: LocalBox) -> str:
        filled = {
            "@PORT@": port,
            "@SOCK@": path,
            "@VICTIM@": victim.pid,
            "@HOSTPID@": os.getpid(),
            "@ZYGPID@": box.server_pids[0],
            "@SECRET@": secret,
            "@SECRETW@": world_readable,
            "@PROOF@": proof,
            "tenv-decoy": decoy,
        }
        for placeholder, value in filled.items():
            text = text.replace(placeholder, str(value))
        return text

    yield Host(victim, proof, fill_in)
    victim.kill()
    victim.wait()
    for listener in listeners:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # or the thread in `accept` keeps it open
        listener.close()


def _welcome(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"welcome")


def descendants(pid: int) -> set[int]:
    """Every process below `pid`."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_bytes()
            except OSError:
                continue
            parents[int(name)] = int(stat.rpartition(b")")[2].split()[1])
    found, new = set(), {pid}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in found} - found
    return found - {pid}


@pytest.fixture
def settle() -> Callable[[LocalBox, int], int]:
    """Wait until at most so many processes live below the fork servers; how many do in the end."""

    def wait(box: LocalBox, most: int) -> int:
        deadline = time.monotonic() + 10
        while True:
            count = sum(len(descendants(pid)) for pid in box.server_pids)
            if count <= most or time.monotonic() > deadline:
                return count
            time.sleep(0.02)

    return wait
