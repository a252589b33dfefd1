"""The container around the fork servers: its walls, its end, and a host that believes nothing that it says."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from toolenvs import sandbox
from toolenvs.errors import ConfigError, SandboxError
from toolenvs.sandbox.docker import container as container_module
from toolenvs.sandbox.docker import frames
from toolenvs.sandbox.docker.box import DockerBox
from toolenvs.sandbox.docker.channel import Channel
from toolenvs.sandbox.docker.engine import LABEL, Engine
from toolenvs.sandbox.docker.options import defaults

from .conftest import IMAGE, Running

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 20.0


def ours(sdk: Engine) -> set[str]:
    """Every container of the backend, whatever its state."""
    return {found["Id"] for found in sdk.api.containers(all=True, filters={"label": LABEL})}


def gone(sdk: Engine, ids: set[str]) -> set[str]:
    """Which of `ids` are still there once they had time to go."""
    deadline_s = time.monotonic() + LIMIT_S
    while (left := ids & ours(sdk)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return left


@pytest.fixture
def raw(sdk: Engine) -> Callable[[str], str]:
    """Run a program in a container of ours, but without the fork server and its walls; what it prints."""

    def run(code: str) -> str:
        command = ["python3", "-I", "-c", code]
        made = sdk.create(replaced(), command)
        try:
            channel, streams, said = Channel(sdk.attach(made)), frames.Streams(), b""
            sdk.start(made)
            while data := channel.read():
                said += b"".join(piece for _, piece in streams.feed(data))
            channel.release()
            return said.decode()
        finally:
            sdk.remove(made)

    return run


def replaced():
    return replace(defaults(), image=IMAGE)


def test_the_containers_own_walls_hold_without_those_of_a_cell(raw: Callable[[str], str]) -> None:
    calls = {
        "socket_inet": "41, 2, 1, 0",
        "socket_unix": "41, 1, 1, 0",
        "socket_vsock": "41, 40, 1, 0",
        "socket_alg": "41, 38, 5, 0",
        "socket_netlink": "41, 16, 3, 0",
        "socketpair_vsock": "53, 40, 1, 0, BUFFER",
        "io_uring_setup": "425, 8, BUFFER",
        "keyctl": "250, 0, -3, 0",
        "add_key": "248, b'user', b'x', b'y', 1, -3",
        "userfaultfd": "323, 1",
        "bpf": "321, 0, BUFFER, 64",
        "perf_event_open": "298, BUFFER, 0, -1, -1, 0",
        "unshare_user": "272, 0x10000000",
        "clone_newuser": "56, 0x10000011, 0, 0, 0, 0",
        "mount": "165, b'x', b'/tmp', b'tmpfs', 0, 0",
        "ptrace": "101, 0, 0, 0, 0",
        "tiocsti": "16, 0, 0x5412, b'x'",
        "memfd_create": "319, b'x', 0",
        "personality": "135, 0x0040000",
        "setuid": "105, 0",
    }
    listed = ", ".join(f"{name!r}: ({arguments},)" for name, arguments in calls.items())
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers above are x86-64's")
    said = raw(f"""
import ctypes, errno, os
libc, BUFFER = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(4096)
for name, arguments in {{{listed}}}.items():
    passed = [ctypes.c_ulong(a & (2**64 - 1)) if isinstance(a, int) else a for a in arguments]
    print(name, libc.syscall(*passed), errno.errorcode[ctypes.get_errno()])
""")
    assert said.splitlines() == [f"{name} -1 EPERM" for name in calls]


def test_what_a_container_may_use_is_bounded(raw: Callable[[str], str]) -> None:
    options = replaced()
    said = raw(f"""
import os, resource, errno
def refused(work):
    try:
        work()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def status(name):
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(name + ":"))
def fill():
    for n in range(10**6):
        os.mkdir(f"/tmp/{{n}}")
def sparse():
    with open("/tmp/sparse", "wb") as file:
        file.truncate(1 << 40)
def disk():
    for n in range(10**3):
        with open(f"/tmp/big{{n}}", "wb") as file:
            file.write(bytes(10 << 20))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
print(os.getuid() >= 1000, os.getgid() >= 1000, os.getgroups())
print([status(name) for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")])
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE))
print(refused(lambda: open("/x", "w")), refused(lambda: open("/usr/x", "w")), refused(lambda: open("/dev/shm/x", "w")))
print(refused(sparse), refused(disk))
for name in os.listdir("/tmp"):
    os.unlink("/tmp/" + name)
print(refused(fill), len(os.listdir("/tmp")) <= {options.tmp_files})
print(sorted(os.listdir("/sys/class/net")))
""")
    lines = said.splitlines()
    assert lines[0].startswith("True True [")
    assert lines[1] == "['0000000000000000', '0000000000000000', '0000000000000000', '1', '2']"
    size = options.tmp_mb << 20
    assert lines[2] == f"({options.container_open_files}, {options.container_open_files}) ({size}, {size})"
    assert lines[3].split()[:2] in (["EROFS", "EROFS"], ["EACCES", "EACCES"])
    assert lines[3].split()[2] in ("EROFS", "ENOENT", "EACCES")
    assert lines[4] == "EFBIG ENOSPC"
    assert lines[5] == "ENOSPC True"
    assert lines[6] == "['lo']"


def test_every_limit_is_handed_to_the_engine(engine: Running, sdk: Engine) -> None:
    with DockerBox(image=IMAGE, container_memory_mb=700, container_processes=99, container_cpus=0.5) as box:
        (made,) = (sdk.api.inspect_container(each) for each in box.container_ids)
        host = made["HostConfig"]
        assert host["Memory"] == host["MemorySwap"] == 700 << 20
        assert (host["PidsLimit"], host["NanoCpus"]) == (99, 500_000_000)
        assert [host[name] for name in ("ReadonlyRootfs", "AutoRemove", "NetworkMode")] == [True, True, "none"]
        assert host["CapDrop"] == ["ALL"]
        assert [name for name in ("CapAdd", "Binds", "Mounts", "Devices", "Privileged") if host.get(name)] == []
        assert host["LogConfig"]["Type"] == "none"
        assert made["Config"]["Labels"][LABEL]
        assert made["Config"]["User"] not in ("", "0", "0:0", "root")


def test_memory_of_all_programs_together_is_bounded(engine: Running) -> None:
    with DockerBox(image=IMAGE, container_memory_mb=700, memory_mb=600) as box:
        with box.session() as one, box.session() as two:
            eat = "x = bytearray(450 << 20)\nfor n in range(0, len(x), 4096): x[n] = 1"
            assert one.run(eat).status == "ok"
            # which of the two is killed is the kernel's choice, and no verdict on its program
            with contextlib.suppress(SandboxError):
                assert two.run(eat).status in ("ok", "crashed", "memory")
            held = []
            for session in (one, two):
                with contextlib.suppress(SandboxError):
                    held.append(session.run("len(x)").value)
            assert held.count(str(450 << 20)) < 2
        assert box.run("print(1)").stdout == "1\n"


def test_closing_removes_the_container(engine: Running, sdk: Engine) -> None:
    box = DockerBox(image=IMAGE)
    session = box.session()
    session.run("import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()")
    ids = set(box.container_ids)
    assert ids <= ours(sdk)
    box.close()
    box.close()
    assert not ids & ours(sdk)
    with pytest.raises(SandboxError, match="closed"):
        box.run("1")
    with pytest.raises(SandboxError, match="closed"):
        session.run("1")


@pytest.mark.parametrize("end", ["kill", "exit", "raise"])
def test_containers_end_with_their_host(end: str, engine: Running, sdk: Engine) -> None:
    program = f"""
import os, sys
from toolenvs import sandbox
box = sandbox.open("docker", image={IMAGE!r})
session = box.session()
session.run("x = 1")
print(*box.container_ids, flush=True)
if {end!r} == "kill":
    session.run("while True: pass", timeout_s=600)
elif {end!r} == "raise":
    raise SystemExit(3)
"""
    host = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    ids = set(host.stdout.readline().split())
    assert len(ids) == 1
    if end == "kill":
        assert ids <= ours(sdk)
        host.send_signal(signal.SIGKILL)
    host.communicate()
    assert not gone(sdk, ids)


def test_a_forked_child_of_the_host_does_not_keep_the_container_alive(engine: Running, sdk: Engine) -> None:
    program = f"""
import os, time
from toolenvs import sandbox
from toolenvs.errors import SandboxError
box = sandbox.open("docker", image={IMAGE!r})
if os.fork() == 0:
    try:
        box.run("1")
    except SandboxError as error:
        print(error, flush=True)
    time.sleep(60)
    os._exit(0)
print(box.run("print('parent')").stdout.strip(), *box.container_ids, flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    host = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert host.stdout is not None
        lines = sorted(host.stdout.readline() for _ in range(2))
        assert lines[1].startswith("this sandbox belongs to the parent process")
        word, *ids = lines[0].split()
        assert word == "parent"
        os.kill(host.pid, signal.SIGKILL)
        assert not gone(sdk, set(ids))
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.wait()
        host.stdout.close()


def test_what_a_dead_host_left_half_made_is_removed_later(engine: Running, sdk: Engine, monkeypatch) -> None:
    left = sdk.create(replaced(), ["python3"])
    sdk.remove_abandoned()
    assert left in ours(sdk)  # somebody may be about to start it
    monkeypatch.setattr("toolenvs.sandbox.docker.engine._ABANDONED_S", -5.0)
    sdk.remove_abandoned()
    assert left not in ours(sdk)


def test_a_dead_container_is_infrastructure_and_is_replaced(engine: Running, sdk: Engine) -> None:
    with DockerBox(image=IMAGE) as box:
        session = box.session()
        session.run("x = 1")
        for each in box.container_ids:
            sdk.remove(each)
        try:
            result = session.run("x")
        except SandboxError as error:  # its end was not heard of yet
            assert "container of the docker sandbox is gone" in str(error)  # noqa: PT017
            result = session.run("x")
        assert (result.error, result.state_lost) == ("NameError: name 'x' is not defined", True)
        assert not session.run("1").state_lost
        assert box.run("print(1)").stdout == "1\n"


async def test_a_container_that_dies_under_many_calls_fails_them_all(engine: Running, sdk: Engine) -> None:
    async with DockerBox(image=IMAGE) as box:
        tasks = [asyncio.create_task(box.arun("import time; time.sleep(600)", timeout_s=600)) for _ in range(8)]
        await asyncio.sleep(0.3)
        for each in box.container_ids:
            await asyncio.to_thread(sdk.remove, each)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [SandboxError] * 8
        assert (await box.arun("print(1)")).stdout == "1\n"


def test_programs_are_spread_over_containers(engine: Running, sdk: Engine) -> None:
    with DockerBox(image=IMAGE, containers=2) as box:
        first, second = box.session(), box.session()
        assert first.run("x = 1").status == second.run("x = 2").status == "ok"
        assert sorted(each.sessions for each in box._containers) == [1, 1]
        ids = set(box.container_ids)
        sdk.remove(first._container.id)
        deadline_s = time.monotonic() + LIMIT_S
        while len(box.container_ids) < 2 or set(box.container_ids) == ids:  # the missing one is started beside
            assert box.run("print(1)").stdout == "1\n"
            assert time.monotonic() < deadline_s
        assert second.run("x").value == "2"


def test_the_same_over_tcp(engine: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.tcp is None:
        pytest.skip("DOCKER_HOST says how to reach the engine")
    monkeypatch.setenv("DOCKER_HOST", engine.tcp)
    with sandbox.open("docker", image=IMAGE) as box, box.session() as session:
        assert box.run("print(input())", stdin="x\n").stdout == "x\n"
        assert session.run("'é' * 60_000").value == repr("é" * 60_000)
        assert session.run("#" * 1_000_000 + "\n1").value == "1"


def test_images_and_runtimes_that_are_not_there_are_named(engine: Running) -> None:
    with pytest.raises(ConfigError, match=r"no image 'nothing:here': make it with `python -m toolenvs.sandbox.docker"):
        DockerBox(image="nothing:here")
    with pytest.raises(ConfigError, match="runtime"):
        DockerBox(image=IMAGE, runtime="nothing")


# What a container says that is not the relay: nothing of it may come through, and it has to go.
_AFTER_BOOT = """
import os, sys, struct, time
def read(size):
    data = b""
    while len(data) < size:
        data += os.read(0, size - len(data))
    return data
for _ in range(2):
    read(int.from_bytes(read(8), "big"))
REPLY = struct.Struct("<4sQBBiIIIII")
def say(nonce, status, *parts):
    parts = (*parts, b"")
    os.write(1, REPLY.pack(b"TEA1", nonce, status, 15, 0, *map(len, parts)) + b"".join(parts))
"""
_READY = (
    _AFTER_BOOT + "say(0, 100, b'', b'', b'', b'')\nhead = read(45)\nnonce = int.from_bytes(head[5:13], 'little')\n"
)
HOSTILE = {
    "garbage": "import os, time\nos.write(1, b'x' * 100)\ntime.sleep(600)",
    "garbage on both streams": "import os\nwhile True:\n  os.write(2, b'y' * 10000); os.write(1, b'x' * 10000)",
    "an end at once": "raise SystemExit('broken image')",
    "an end after boot": _AFTER_BOOT + "raise SystemExit('broken later')",
    "no python": "import os\nos.abort()",
    "ready for ever": _AFTER_BOOT + "while True: say(0, 100, b'', b'', b'', b'')",
    "a reply to nobody": _READY + "say(nonce ^ 1, 0, b'PWNED', b'', b'', b'')\ntime.sleep(600)",
    "two replies": _READY + "say(nonce, 0, b'', b'', b'', b'')\nsay(nonce, 0, b'', b'', b'', b'')\ntime.sleep(600)",
    "a giant": _READY + "os.write(1, REPLY.pack(b'TEA1', nonce, 0, 15, 0, 2**32 - 1, 0, 0, 0, 0))\ntime.sleep(600)",
    "a flood": _READY + "while True: os.write(1, bytes(65536))",
    "another status": _READY + "say(nonce, 77, b'', b'', b'', b'')\ntime.sleep(600)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_container_that_lies_is_infrastructure_and_goes(name: str, engine: Running, sdk: Engine, monkeypatch) -> None:
    before = ours(sdk)
    monkeypatch.setattr(container_module, "_COMMAND", ["python3", "-I", "-c", HOSTILE[name]])
    with pytest.raises(SandboxError, match="container"), DockerBox(image=IMAGE) as box:  # noqa: PT012
        victim = box.container()
        box.run("1")
        while victim.running:  # the second reply comes after the first was believed
            time.sleep(0.01)
        victim.call(frames.Request(frames.RUN, container_module.new_nonce()))
    assert not gone(sdk, ours(sdk) - before)


def test_a_container_that_never_answers_is_given_up(engine: Running, sdk: Engine, monkeypatch) -> None:
    before = ours(sdk)
    monkeypatch.setattr(container_module, "_COMMAND", ["python3", "-I", "-c", _READY + "time.sleep(600)"])
    monkeypatch.setattr("toolenvs.sandbox.docker.box.ANSWER_LIMIT_S", 0.5)
    with DockerBox(image=IMAGE) as box:
        with pytest.raises(SandboxError, match=r"did not answer within 0\.6 s"):
            box.run("1", timeout_s=0.1)
        with pytest.raises(SandboxError, match=r"did not answer within 0\.6 s"):
            asyncio.run(box.arun("1", timeout_s=0.1))
    assert not gone(sdk, ours(sdk) - before)
