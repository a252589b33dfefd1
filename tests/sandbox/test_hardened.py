"""The hardened tier: control groups, a user for each session, other programs where they are asked for."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs.errors import ConfigError, ForkError, IsolationError, SandboxError
from toolenvs.sandbox import cgroups, probe
from toolenvs.sandbox.limits import defaults
from toolenvs.sandbox.local import LocalBox
from toolenvs.sandbox.users import Users

ROOT = Path(__file__).resolve().parents[2]
PROBED = probe()[0]
needs_it = pytest.mark.skipif(not PROBED.works, reason=f"no hardened tier here: {PROBED.detail}")


@pytest.fixture(scope="module")
def hardened() -> Iterator[LocalBox]:
    with LocalBox(tier="hardened", memory_mb=200) as box:
        yield box


@pytest.fixture(scope="module")
def spawning() -> Iterator[LocalBox]:
    with LocalBox(subprocesses=True, memory_mb=200) as box:
        assert box.tier == "hardened"
        yield box


V1 = """
1:cpu,cpuacct:/job
4:memory:/process/7
8:pids:/
0::/
"""
V1_MOUNTS = """
30 20 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
31 20 0:27 /process /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 20 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
33 20 0:29 /elsewhere /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
34 20 0:30 / /proc rw,relatime - proc proc rw
"""


def test_own_groups_are_found_wherever_they_are_mounted(tmp_path: Path) -> None:
    mounts = V1_MOUNTS.strip().replace("/sys/fs/cgroup", str(tmp_path))
    found = {item.controllers: item.own for item in cgroups.hierarchies(V1.strip(), mounts)}
    assert found == {
        frozenset({"cpu", "cpuacct"}): tmp_path / "cpu,cpuacct/job",
        frozenset({"memory"}): tmp_path / "memory/7",
        frozenset({"pids"}): tmp_path / "pids",
    }


def test_one_tree_for_all_controllers(tmp_path: Path) -> None:
    own = tmp_path / "user.slice/leaf"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (found,) = cgroups.hierarchies("0::/user.slice/leaf\n", f"30 20 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    assert found == (2, frozenset({"cpu", "memory", "pids"}), own)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is told that root is needed: see the next test")
def test_where_there_are_no_groups_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda *_: [])
    with pytest.raises(IsolationError, match="no memory controller is mounted here, no pids controller"):
        LocalBox(tier="hardened")
    with LocalBox() as box:
        assert box.tier != "hardened"

    def unreadable(*_: str) -> list[cgroups.Hierarchy]:
        raise FileNotFoundError(2, "No such file or directory", "/proc/self/cgroup")

    monkeypatch.setattr(cgroups, "hierarchies", unreadable)
    with pytest.raises(IsolationError, match="No such file or directory at /proc/self/cgroup"):
        LocalBox(tier="hardened")


def test_an_ordinary_user_is_told_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(IsolationError, match="only root can give each session a user of its own"):
        LocalBox(tier="hardened")


@needs_it
def test_each_session_has_a_user_of_its_own(hardened: LocalBox) -> None:
    with LocalBox(tier="hardened") as other:
        sessions = [box.session() for box in (hardened, other) for _ in range(3)]
        users = [session.run("import os; os.getuid(), os.getgid(), os.getgroups()").value for session in sessions]
        assert len(set(users)) == 6
        with sessions[0].fork() as copy:
            assert copy.run("os.getuid(), os.getgid(), os.getgroups()").value == users[0]
        for session in sessions:
            session.close()


def test_users_are_leased_one_owner_at_a_time() -> None:
    one, two = Users(40_000), Users(40_000)
    numbers = [one.number(index) for index in range(100)] + [two.number(index) for index in range(100)]
    assert len(set(numbers)) == 200
    assert min(numbers) >= 40_256
    one.close()
    third = Users(40_000)
    assert third.number(0) == numbers[0]
    two.close()
    third.close()
    last = Users(65_400)
    with pytest.raises(SandboxError, match="no user ids are left"):
        last.number(500)
    last.close()


def _groups(box: LocalBox) -> dict[int, list[str]]:
    """Process -> its slots, for every process in a slot."""
    found: dict[int, list[str]] = {}
    for base in box.cgroups:
        for folder in base.iterdir():
            if folder.is_dir():
                for pid in map(int, (folder / "cgroup.procs").read_text().split()):
                    found.setdefault(pid, []).append(folder.name)
    return found


@needs_it
def test_every_cell_is_in_groups_of_its_own(hardened: LocalBox) -> None:
    with hardened.session() as session:
        session.run("x = 1")
        with session.fork() as copy, hardened.session() as other:
            copy.run("x")
            other.run("1")
            members = _groups(hardened)
            assert len(members) >= 3
            for slots in members.values():
                assert len(slots) == len(hardened.cgroups)
                assert len(set(slots)) == 1
            assert len({slots[0] for slots in members.values()}) == len(members)


@needs_it
def test_slots_are_used_again_and_removed_at_the_end() -> None:
    with LocalBox(tier="hardened") as box:
        for _ in range(40):
            box.run("1")
            with box.session() as session:
                session.run("1")
        folders = [path for base in box.cgroups for path in base.iterdir() if path.is_dir()]
        assert len(folders) / len(box.cgroups) < 30
        bases = box.cgroups
    assert not [base for base in bases if base.exists()]


@needs_it
def test_groups_of_a_killed_process_are_removed() -> None:
    program = (
        "from toolenvs.sandbox.local import LocalBox\nbox = LocalBox(tier='hardened')\nbox.session().run('1')\n"
        "print(*box.cgroups, flush=True)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    bases = [Path(word) for word in done.stdout.split()]
    assert len(bases) >= 1
    until_s = time.monotonic() + 20
    while any(base.exists() for base in bases) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert not [base for base in bases if base.exists()]


@needs_it
def test_what_nobody_owns_is_removed_by_the_next_box() -> None:
    with LocalBox(tier="hardened") as box:
        abandoned = [base.with_name("toolenvs-0-abandoned") for base in box.cgroups]
        for folder in abandoned:
            (folder / "0").mkdir(parents=True)
        with LocalBox(tier="hardened"):
            assert not [folder for folder in abandoned if folder.exists()]
        assert all(base.exists() for base in box.cgroups)
        assert box.run("print(1)").stdout == "1\n"


@needs_it
def test_a_forked_host_leaves_the_groups_to_its_parent(hardened: LocalBox) -> None:
    child = os.fork()
    if child == 0:
        hardened.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert all(base.exists() for base in hardened.cgroups)
    assert hardened.run("print(1)").stdout == "1\n"


@needs_it
def test_a_cell_cannot_see_its_groups(hardened: LocalBox) -> None:
    code = "import os\n[os.path.exists(p) for p in ('/sys', '/sys/fs/cgroup', '/proc/cgroups')]"
    with hardened.session() as session:
        assert session.run(code).value == "[False, False, False]"
        seen = session.run("print(open('/proc/self/cgroup').read())").stdout
        assert seen.strip()
        assert "toolenvs" not in seen


@needs_it
def test_what_names_the_host_is_hidden(hardened: LocalBox) -> None:
    assert hardened.run("import os\nprint(os.uname().nodename)").stdout == "sandbox\n"


@needs_it
def test_processors_are_bounded(hardened: LocalBox) -> None:
    spin = (
        "import hashlib, threading, time\ndata = bytes(1 << 20)\nstop = time.monotonic() + 1.5\n"
        "def work():\n    while time.monotonic() < stop: hashlib.sha256(data).digest()\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\nprint(time.process_time())"
    )
    assert float(hardened.run(spin).stdout) <= 1.5 * defaults().cpus + 0.3


@needs_it
def test_processors_are_bounded_for_all_processes_of_a_cell_together(spawning: LocalBox) -> None:
    spin = (
        "import os, resource, time\nstop = time.monotonic() + 1.2\n"
        "for _ in range(4):\n    if os.fork() == 0:\n        while time.monotonic() < stop: pass\n        os._exit(0)\n"
        "for _ in range(4): os.wait()\nused = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    assert float(spawning.run(spin).stdout) <= 1.2 * defaults().cpus + 0.3


@needs_it
def test_programs_may_start_others_where_that_was_asked_for(spawning: LocalBox, hardened: LocalBox) -> None:
    shell = (
        "import subprocess\nprint(subprocess.run('echo $((6 * 7))', shell=True, capture_output=True, text=True).stdout)"
    )
    assert spawning.run(shell).stdout == "42\n\n"
    assert hardened.run(shell).status == "error"
    python = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import numpy'], check=True).returncode"
    assert spawning.run(python).value == "0"
    ended = "import subprocess\np = subprocess.Popen(['sleep', '60'])\np.terminate()\np.wait()"
    assert spawning.run(ended).value == "-15"
    assert spawning.run(ended.replace("terminate", "kill")).value == "-9"


@needs_it
def test_what_a_program_forks_ends_where_the_program_does(spawning: LocalBox) -> None:
    forks = (
        "import os, sys\nchild = os.fork()\nif child:\n    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ends = {"sys.exit(3)": 3, "sys.exit()": 0, "pass": 0, "1 / 0": 1, "sys.exit('no')": 1}
    for end, code in ends.items():
        result = spawning.run(f"{forks}else:\n    print('child')\n    {end}")
        assert (result.status, result.stdout) == ("ok", f"child\n{code}\n"), end
        assert ("Traceback" in result.stderr) == bool(code)
    many = spawning.run(f"{forks}else:\n    print('x' * 30_000)")
    assert many.stdout == "x" * 30_000 + "\n0\n"
    with spawning.session() as session:
        assert session.run(f"{forks}else:\n    x = 1").stdout == "0\n"
        assert session.run("import time\nif os.fork() == 0:\n    time.sleep(0.05)").status == "ok"
        for number in range(20):  # nor does one that goes on meanwhile answer for its parent
            assert session.run(f"time.sleep(0.005)\n{number}").value == str(number)
        assert session.run("'x' in globals()").value == "False"
        assert session.run("os.getpid = lambda: 1\n5").value == "5"


@needs_it
def test_what_a_program_starts_ends_with_it(spawning: LocalBox) -> None:
    daemon = (
        "import os, subprocess\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        os.execv('/usr/bin/sleep', ['sleep', '600'])\n    os._exit(0)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    )
    for _ in range(3):
        assert spawning.run(daemon).status == "ok"
        with spawning.session() as session:
            session.run(daemon)
            session.run("while True: pass", timeout_s=0.2)
    until_s = time.monotonic() + 10
    while (left := _sleepers(spawning)) and time.monotonic() < until_s:
        time.sleep(0.02)
    assert not left


def _sleepers(box: LocalBox) -> list[int]:
    found = []
    for pid in _groups(box):
        with contextlib.suppress(OSError):  # it has just ended
            if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                found.append(pid)
    return found


@needs_it
def test_children_share_one_limit_on_memory_and_processes(spawning: LocalBox) -> None:
    bomb = (
        "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        kept = bytearray(150 << 20)\n"
        "        time.sleep(1)\n        os._exit(0)\nsum(os.wait()[1] == 0 for _ in range(6))"
    )
    with spawning.session() as session:
        survivors = session.run(bomb)
        assert survivors.status == "memory" or int(survivors.value or 6) <= 2
    forks = (
        "import os, time\nn = 0\ntry:\n    while n < 500:\n        if os.fork() == 0:\n            time.sleep(60)\n"
        "        n += 1\nexcept OSError:\n    print(n)"
    )
    assert 0 < int(spawning.run(forks).stdout) <= defaults().processes


@needs_it
def test_sessions_with_subprocesses_cannot_reach_each_other(spawning: LocalBox) -> None:
    with spawning.session() as one, spawning.session() as two:
        one.run("import subprocess\np = subprocess.Popen(['sleep', '60'])")
        reach = (
            "import os, signal\nreached = []\nfor pid in range(1, 3000):\n    if pid != os.getpid():\n        try:\n"
            "            os.kill(pid, 0); reached.append(pid)\n        except OSError: pass\nreached"
        )
        assert two.run(reach).value == "[]"
        assert (
            two.run("[name for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]").value
            == "[]"
        )
        assert one.run("p.poll() is None").value == "True"
        with pytest.raises(ForkError, match="with subprocesses"):
            one.fork()


def test_subprocesses_are_for_the_hardened_tier_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="hardened tier only"):
        LocalBox(tier="namespace", subprocesses=True)
    monkeypatch.setattr(cgroups, "hierarchies", lambda *_: [])
    with pytest.raises(IsolationError, match="at least 'hardened'"):
        LocalBox(subprocesses=True)
