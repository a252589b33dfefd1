"""Forks of live sessions under stress and under attack: nothing is lost, nothing stays behind."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolenvs.errors import ForkError
from toolenvs.sandbox.local import LocalBox


def steady(box: LocalBox, settle: Callable[[LocalBox, int], int]) -> int:
    """How many processes live below the fork servers, once that does not change any more and none is starting."""
    count = -1
    while count != (count := settle(box, 1_000)) or any(pool._growing for pool in box._pools.values()):
        time.sleep(0.2)
    return count


def test_copies_may_end_before_they_are_known(box: LocalBox, settle: Callable[[LocalBox, int], int]) -> None:
    with box.session() as session:
        session.run("x = [0]")
        before = settle(box, 16)
        for _ in range(100):
            copy = session.fork()
            grandchild = copy.fork()
            copy.close()
            assert grandchild.run("x.append(1); len(x)").value == "2"
            session.fork().close()
            grandchild.close()
        assert session.run("len(x)").value == "1"
        assert settle(box, before) <= before


def test_copies_of_one_tree_are_made_side_by_side(box: LocalBox) -> None:
    def branch(number: int) -> list[str | None]:
        with box.session() as session:
            session.run(f"x = {number}")
            answers = []
            for step in range(8):
                with session.fork() as copy, copy.fork() as grandchild:
                    copy.run("x = None")
                    answers.append(grandchild.run(f"x * 10 + {step}").value)
            return answers

    with ThreadPoolExecutor(4) as threads:
        for number, answers in enumerate(threads.map(branch, range(4))):
            assert answers == [str(number * 10 + step) for step in range(8)]


def test_to_the_program_a_copy_is_no_fork(box: LocalBox) -> None:
    hooks = ", ".join(f"{when}=lambda: ran.append(1)" for when in ("before", "after_in_parent", "after_in_child"))
    with box.session() as session:
        session.run(f"import os, random, threading\nran = []\nos.register_at_fork({hooks})\nrandom.seed(3)")
        with session.fork() as copy:
            look = "ran, random.random(), threading.current_thread() is threading.main_thread()"
            assert copy.run(look).value == session.run(look).value
            assert copy.run("ran").value == "[]"
            started = "started = threading.Thread(target=ran.append, args=[2])\nstarted.start()\nstarted.join()\nran"
            assert copy.run(started).value == session.run(started).value == "[2]"


def test_copies_cannot_see_into_each_other(box: LocalBox) -> None:
    look = (
        f"FILE = 'fd/{9 if box.tier == 'fork' else 0}'"
        + """  # there what anybody may open can be opened
import os
opened = []
for number in range(max(os.getpid() - 200, 1), os.getpid() + 200):
    if number != os.getpid():
        for name in ("mem", "environ", "maps", "cwd", "stat", FILE):
            try:
                os.close(os.open(f"/proc/{number}/{name}", os.O_RDONLY))
                opened.append((number, name))
            except OSError:
                pass
"""
    )
    with box.session() as session:
        session.run("secret = 'x'")
        with session.fork() as copy, session.fork() as other, copy.fork() as grandchild:
            for one in (session, copy, other, grandchild):
                assert one.run(look + "opened").value == "[]"


def test_working_folders_of_living_copies_stay(box: LocalBox) -> None:
    with box.session() as session:
        session.run("import os, sys")
        with session.fork() as copy:
            copy.run("sys.stdout.write(os.getcwd())")
            with session.fork() as other:
                for one in (copy, other):
                    assert one.run("os.path.isdir(os.getcwd())").value == "True"


HOOKS = {
    "forks before": "os.register_at_fork(before=more)",
    "forks in the parent": "os.register_at_fork(after_in_parent=more)",
    "forks in the copy": "os.register_at_fork(after_in_child=more)",
    "hangs in the copy": "os.register_at_fork(after_in_child=spin)",
    "ends the copy": "os.register_at_fork(after_in_child=lambda: os._exit(0))",
    "replaces fork": "real = os.fork\nos.fork = lambda: (more(), real())[1]",
    "replaces the call below": "kernel.fork_sibling = lambda at: more()",
    "forks once more": "one = kernel.fork_sibling\nkernel.fork_sibling = lambda at: (one(at), more())[0]",
    "pretends to fork": "os.fork = lambda: 1",
    "pretends to be the copy": "os.fork = lambda: 0",
    "forks for ever": "real = os.fork\ndef often():\n  while True: more()\nos.fork = often",
}
_BELOW = """
import os, sys
frame = sys._getframe()
while "kernel" not in frame.f_globals: frame = frame.f_back
kernel = frame.f_globals["kernel"]
"""
_ARMED = """
real = os.fork
def spin():
    while True: pass
def more():
    try:
        if real() == 0: spin()
    except OSError:
        pass
"""


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_an_admitted_fork_is_of_no_use_to_the_program(
    box: LocalBox, settle: Callable[[LocalBox, int], int], hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, before = len(box.server_pids), steady(box, settle)
    session = box.session()
    assert session.run(_BELOW + _ARMED + hook).status == "ok"
    with monkeypatch.context() as patch:
        for name in ("cell", "local"):  # a copy that hangs is given up sooner
            patch.setattr(f"toolenvs.sandbox.{name}.COPY_LIMIT_S", 1.0)
        with contextlib.suppress(ForkError), session.fork() as copy:
            assert copy.run("1 + 1", timeout_s=0.5).status in ("ok", "timeout", "crashed")
    session.close()
    before += len(box.server_pids) - servers  # each has one process of its own below it
    assert settle(box, before) <= before, "a process was left behind"
    with box.session() as other:
        other.run("y = 5")
        with other.fork() as copy:
            assert copy.run("y").value == "5"


def test_a_session_without_room_for_the_copys_channels_says_so_and_lives(box: LocalBox) -> None:
    with box.session() as session:
        session.run("import os\nkept = []\ntry:\n    while True: kept.append(os.dup(0))\nexcept OSError: pass")
        with pytest.raises(ForkError, match="open files"):
            session.fork()
        assert session.run("len(kept) > 50").value == "True"


_DEAF = """
import time
kernel.prctl = lambda option, value=0: 0
os._exit = lambda code: time.sleep(600)
"""


@pytest.mark.parametrize("how", ["the box is closed", "the fork server is killed", "the host is gone"])
def test_no_copy_outlives_its_fork_server(how: str) -> None:
    with LocalBox(tier="fork") as box:
        session = box.session()
        assert session.run(_BELOW + _DEAF).status == "ok"
        copies = [session.fork() for _ in range(3)]
        pids = [copy.run("os.getpid()").value for copy in copies]
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
        if how == "the fork server is killed":
            parent = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(parent, signal.SIGKILL)
        elif how == "the host is gone":
            for server in [server for pool in box._pools.values() for server in pool.servers]:
                server._socket.shutdown(socket.SHUT_RDWR)  # as the kernel would
        else:
            box.close()
            assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
        deadline_s = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_session_has_its_user_to_itself_and_its_copies() -> None:
    if os.getuid() != 0:
        pytest.skip("in the fork tier only root can give each session a user of its own")
    with LocalBox(tier="fork") as box:
        first = box.session()
        user = first.run("import os\nos.getuid()").value
        copy = first.fork()
        first.close()
        with box.session() as other:
            assert copy.run("os.getuid()").value == user != other.run("import os\nos.getuid()").value
            copy.close()


def test_a_tree_has_as_many_processes_as_one_program_may_have() -> None:
    with LocalBox(processes=4) as box, box.session() as session, contextlib.ExitStack() as opened:
        session.run("x = 1")
        copies = [opened.enter_context(session.fork()) for _ in range(3)]
        with pytest.raises(ForkError, match="as many processes as they may have"):
            copies[0].fork()
        assert {each.run("x").value for each in (session, *copies)} == {"1"}


DRAW = """
import matplotlib.pyplot as plt
def draw(text):
    plt.figure(figsize=(2, 2))
    plt.title(text)
    plt.text(0, 0.5, rf"${text[0]}^2$")
draw("first")
"""
MORE = "draw('\u03b1\u03b2\u03b3 \u20ac')\ndraw('Zwölf \u2200x')"


def test_copies_of_a_session_that_drew_a_figure_draw_what_it_draws(box: LocalBox) -> None:
    expected = box.run(f"{DRAW}\nplt.close()\n{MORE}", timeout_s=60)
    assert len(expected.files) == 2
    with box.session() as session, contextlib.ExitStack() as opened:
        assert len(session.run(DRAW, timeout_s=60).files) == 1  # fonts stay open
        copies = [opened.enter_context(session.fork()) for _ in range(2)]
        with ThreadPoolExecutor(3) as threads:
            for drawn in threads.map(lambda each: each.run(MORE, timeout_s=60), (session, *copies)):
                assert drawn.files == expected.files
