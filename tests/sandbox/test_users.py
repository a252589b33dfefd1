"""Who runs the sandbox, and what is left when that one dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534

# Python may lie below a folder that only root can enter: show it to the user, in a mount namespace of the child's own.
_AS_NOBODY = """
import os, sys
from toolenvs.sandbox import kernel
kernel.unshare(kernel.CLONE_NEWNS)
kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
for prefix in {sys.base_prefix, sys.prefix}:
    parts = prefix.split("/")
    closed = [path for n in range(2, len(parts) + 1) if not os.stat(path := "/".join(parts[:n])).st_mode & 1]
    if closed:
        held = os.open(prefix, os.O_PATH)
        kernel.mount("tmpfs", closed[0], "tmpfs", 0, "mode=755")
        os.makedirs(prefix)
        kernel.mount(f"/proc/self/fd/{held}", prefix, "", kernel.MS_BIND)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", _AS_NOBODY, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="the whole suite runs as an ordinary user already")
@pytest.mark.parametrize("subject", ["test_attacks.py", "test_hostile_kinds.py"])
def test_an_ordinary_user_is_as_safe(subject: str) -> None:
    path = str(Path(__file__).with_name(subject))
    done = as_nobody("-m", "pytest", "-q", "-rs", "-x", "-p", "no:cacheprovider", "-k", "not stateless", path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    reasons = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert all("tier does not work on this machine" in line for line in reasons), reasons


@pytest.mark.parametrize("tier", ["fork", "namespace", "hardened"])
def test_nothing_outlives_a_killed_trainer(tier: str) -> None:
    program = f"""
import sys
from toolenvs.sandbox.local import LocalBox
from toolenvs.errors import IsolationError
try:
    box = LocalBox(tier={tier!r})
except IsolationError:
    print("none", flush=True)
    sys.exit()
session = box.session()
session.run("import signal, threading\\nfor s in range(1, 32):\\n  try: signal.signal(s, signal.SIG_IGN)\\n"
            "  except (OSError, ValueError): pass\\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()")
print(*box.server_pids, flush=True)
session.run("while True: pass", timeout_s=600)
"""
    trainer = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert trainer.stdout is not None
    words = trainer.stdout.readline().split()
    if words == ["none"]:
        trainer.communicate()
        pytest.skip(f"the {tier} tier does not work on this machine")
    pids = _family({int(word) for word in words})
    assert len(pids) > len(words)
    trainer.send_signal(signal.SIGKILL)
    trainer.communicate()
    deadline = time.monotonic() + 10
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


def _family(roots: set[int]) -> set[int]:
    """The processes `roots` and all below them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    found, new = set(), set(roots)
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in found} - found
    return found
