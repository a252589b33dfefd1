"""What the local sandbox promises to those who use it well."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import sandbox
from toolenvs.errors import ConfigError, ForkError, IsolationError, SandboxError
from toolenvs.sandbox import base
from toolenvs.sandbox.local import LocalBox


def test_a_program_runs_in_a_fresh_interpreter(box: LocalBox) -> None:
    result = box.run("x = 2\nprint(x + 2)")
    assert (result.status, result.stdout, result.stderr, result.value, result.error) == ("ok", "4\n", "", None, None)
    assert result.seconds > 0
    assert box.run("x").error == "NameError: name 'x' is not defined"


def test_a_session_keeps_its_state_and_echoes_the_last_expression(box: LocalBox) -> None:
    with box.session() as session:
        assert session.run("x = 2").value is None
        assert session.run("x + 2").value == "4"
        assert session.run("print(x); None").value is None
        assert session.run("def f(n):\n    return n * x\n[f(n) for n in range(3)]").value == "[0, 2, 4]"


def test_errors_end_a_program_and_not_the_session(box: LocalBox) -> None:
    with box.session() as session:
        result = session.run("y = 1\nprint('before')\n1/0")
        assert result.status == "error"
        assert result.error == "ZeroDivisionError: division by zero"
        assert result.stdout == "before\n"
        assert result.stderr.startswith('Traceback (most recent call last):\n  File "<cell 1>", line 3, in <module>\n')
        assert "worker.py" not in result.stderr
        assert session.run("def (:").error == "SyntaxError: invalid syntax"
        assert session.run("y").value == "1"


@pytest.mark.parametrize(
    "code", ["while True: pass", "import time; time.sleep(1000)", "input_ = 1\nfor _ in iter(int, 1): input_ += 1"]
)
def test_a_session_survives_a_timeout(box: LocalBox, code: str) -> None:
    with box.session() as session:
        session.run("x = 5")
        result = session.run(f"print('shown')\n{code}", timeout_s=0.3)
        assert (result.status, result.stdout) == ("timeout", "shown\n")
        assert result.error == "TimeoutError: the program ran longer than 0.3 s"
        assert "KeyboardInterrupt" in result.stderr
        assert "worker.py" not in result.stderr
        assert session.run("x").value == "5"


def test_a_program_that_ignores_its_timeout_is_killed_and_the_session_starts_afresh(box: LocalBox) -> None:
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nx = 1\nwhile True: pass"
    with box.session() as session:
        assert session.run(stubborn, timeout_s=0.3).status == "timeout"
        assert session.run("x").error == "NameError: name 'x' is not defined"


def test_memory_is_bounded(box: LocalBox) -> None:
    with box.session() as session:
        assert session.run("b = bytearray(2 << 30)").status == "memory"
        assert session.run("1 + 1").value == "2"
        assert session.run("b = bytearray(200 << 20); len(b) >> 20").value == "200"
        assert session.run("import numpy; numpy.ones(200 << 20)").status == "memory"


def test_output_is_cut_and_says_so(box: LocalBox) -> None:
    limit = box.limits.output_chars
    with box.session() as session:
        result = session.run("print('é' * 1_000_000)")
        assert (result.status, result.truncated, result.stdout) == ("ok", True, "é" * limit)
        assert session.run("'v' * 1_000_000").truncated
        exact = session.run(f"print('a' * {limit}, end='')")
        assert (len(exact.stdout), exact.truncated) == (limit, False)
        assert session.run("import os\nfor _ in range(2000): os.write(1, b'x' * 1000)").status == "output"
        assert session.run("2").value == "2"


def test_text_of_any_kind_survives_the_way(box: LocalBox) -> None:
    text = "naïve \0 \x1b[31m 🐍 日本 \u202e \r\n\ttab \ud800"
    with box.session() as session:
        result = session.run(f"s = {ascii(text)}\nprint(s, end='')\ns")
        assert result.stdout == text.encode("utf-8", "backslashreplace").decode()
        assert result.value == repr(text)
        assert session.run("raise ValueError('🐍' * 10)").error == "ValueError: " + "🐍" * 10


def test_programs_that_cannot_be_sent_are_the_programs_errors(box: LocalBox) -> None:
    assert box.run("print('\ud800')").error.startswith("UnicodeEncodeError")
    assert box.run("#" * (box.limits.code_chars + 1)).error.startswith("ValueError: the program is longer")
    assert box.run("a\0b").status == "error"
    assert box.run("").status == "ok"


@settings(max_examples=40)
@given(text=st.text(max_size=200))
def test_any_program_gives_a_result(shared_session, text: str) -> None:
    result = shared_session.run(text, timeout_s=5)
    assert result.status in ("ok", "error", "crashed", "timeout", "memory")


@pytest.fixture(scope="module")
def shared_session():
    with LocalBox() as box, box.session() as session:
        yield session


def test_standard_input_is_given_or_empty(box: LocalBox) -> None:
    assert box.run("print(input(), input())", stdin="a\né\n").stdout == "a é\n"
    assert box.run("input()").error == "EOFError: EOF when reading a line"
    assert box.run("import sys\nsys.stdin.buffer.read()", stdin="é").value == repr("é".encode())


def test_programs_are_a_function_of_the_seed(box: LocalBox) -> None:
    code = (
        "import random, numpy\nprint(random.random(), numpy.random.rand(), sorted(map(hash, 'abc')), {'b', 'a', 'c'})"
    )
    first = box.run(code, seed=7).stdout
    assert box.run(code, seed=7).stdout == first
    assert box.run(code, seed=8).stdout != first
    assert box.run(code).stdout == box.run(code, seed=0).stdout
    with LocalBox(tier=box.tier, seed=7) as other, other.session() as session, box.session(seed=7) as asked:
        assert other.run(code).stdout == first  # its cells are seeded before the request
        assert other.run(code, seed=7 + 2**64).stdout == first
        for one in (session, asked):
            assert one.run(code).stdout == first
            assert one.run(code).stdout != first


@pytest.mark.parametrize("load", ['exec("import numpy")', 'numpy = __import__("num" + "py")'])
def test_numpy_is_seeded_however_a_program_loads_it(box: LocalBox, load: str) -> None:
    plainly = box.run("import numpy\nnumpy.random.rand()", seed=7)
    assert box.run(f"{load}\nnumpy.random.rand()", seed=7).value == plainly.value
    assert box.run(f"{load}\nnumpy.random.rand()").value == box.run("import numpy\nnumpy.random.rand()").value


def test_a_seed_may_be_a_number_of_numpy(box: LocalBox) -> None:
    code = "import random\nrandom.random()"
    with LocalBox(tier=box.tier, seed=numpy.int64(-3)) as other, other.session(seed=numpy.int64(5)) as session:
        assert other.run(code).value == box.run(code, seed=-3).value
        assert session.run(code).value == box.run(code, seed=numpy.uint8(5)).value == box.run(code, seed=5).value


def test_the_main_thread_knows_its_own_number(box: LocalBox) -> None:
    code = "import threading\nthreading.main_thread().native_id == threading.get_native_id()"
    assert box.run(code).value == "True"
    with box.session() as session:
        assert session.run(code).value == "True"
        with session.fork() as copy:
            assert copy.run(code).value == "True"


def test_a_stateless_program_ends_as_an_interpreter_does(box: LocalBox) -> None:
    code = (
        "import atexit, threading, time\natexit.register(print, 'bye')\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\nprint('main')"
    )
    assert box.run(code).stdout == "main\nlate\nbye\n"
    pool = "import time\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
    assert box.run(pool + "_ = pool.submit(lambda: (time.sleep(0.05), print('worked')))").stdout == "worked\n"
    assert box.run("import sys\nsys.exit()").status == "ok"
    assert box.run("import sys\nsys.exit('no')").error == "SystemExit: no"


def test_common_modules_work(box: LocalBox) -> None:
    code = (
        "import asyncio, sqlite3, decimal, subprocess, ssl, ctypes, multiprocessing, hashlib, uuid, zoneinfo\n"
        "async def main():\n    await asyncio.sleep(0)\n    return 5\n"
        "print(asyncio.run(main()), sqlite3.connect(':memory:').execute('select 1').fetchone())\n"
        "print(hashlib.sha256(b'').hexdigest()[:8])"
    )
    assert box.run(code).stdout == "5 (1,)\ne3b0c442\n"
    assert box.run("import numpy, sympy\nx = sympy.Symbol('x')\nsympy.solve(x**2 - 4)").value == "[-2, 2]"
    assert box.run("import gymnasium").error == "ModuleNotFoundError: No module named 'gymnasium'"
    assert box.run("import toolenvs").error == "ModuleNotFoundError: No module named 'toolenvs'"


def test_nothing_runs_as_root(box: LocalBox) -> None:
    with box.session() as session:
        uid = int(session.run("import os\nos.getuid()").value)
    assert uid != 0


def test_files_are_private_where_there_are_any(box: LocalBox) -> None:
    with box.session() as one, box.session() as two:
        result = one.run("open('note', 'w').write('mine')\nopen('/tmp/note').read()")
        if box.tier != "fork":
            assert result.value == "'mine'"
        else:
            assert result.status == "error"
        assert two.run("open('/tmp/note')").error.startswith("FileNotFoundError") or box.tier == "fork"
        assert one.run("open('/dev/null', 'w').write('x')").value == "1"


def test_a_fork_carries_everything_and_is_independent(box: LocalBox) -> None:
    with box.session(seed=3) as session:
        session.run("import random, numpy\nx = [1]\na = numpy.arange(5)\nrandom.random()")
        with session.fork() as copy, copy.fork() as grandchild:
            draws = [
                each.run("x.append(2)\n(x, int(a.sum()), random.random(), numpy.random.rand())").value
                for each in (session, copy, grandchild)
            ]
            assert draws[0].startswith("([1, 2], 10,")
            assert draws == [draws[0]] * 3
            copy.run("x.append(9)")
            assert session.run("x").value == "[1, 2]"
            assert copy.run("import os\nos.kill(os.getpid(), 9)").error.startswith("PermissionError")
            assert copy.run("os._exit(3)").error == "the interpreter exited with code 3"
            assert copy.run("1").value == "1"
            session.close()
            assert grandchild.run("x").value == "[1, 2]"
            assert grandchild.run("import os\nos.fork()").error.startswith("PermissionError")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "threads"),
        (
            "import ctypes\nlibc, number = ctypes.CDLL(None), ctypes.c_ulong()\n"
            "libc.pthread_create(ctypes.byref(number), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)",
            "threads",
        ),
        ("f = open('/dev/null')", "open files"),
        ("import socket\npair = socket.socketpair()", "open files"),
        ("import os\nf = os.open('/', os.O_PATH)", "open files"),
        ("f = open('/tmp/note', 'w+')", "open files"),
        ("open('note', 'w').close()", "written files"),
    ],
    ids=["threads", "threads that are not python's", "device", "sockets", "path", "writing", "written"],
)
def test_a_fork_that_would_not_be_faithful_is_refused(box: LocalBox, code: str, reason: str) -> None:
    with box.session() as session:
        if session.run(code).status == "error":
            assert box.tier == "fork"  # where nothing can be written
            assert "note" in code
            return
        with pytest.raises(ForkError, match=f"{reason}.*replay"):
            session.fork()
        assert session.run("1").value == "1"


def test_a_file_that_is_only_read_is_each_copys_own(box: LocalBox) -> None:
    with box.session() as session:
        session.run("import json, os\nfile, raw = open(json.__file__), os.open(json.__file__, os.O_RDONLY)\nlines = []")
        read = "lines.append(file.readline() + os.read(raw, 5).decode())\nos.get_inheritable(raw), lines"
        seen = session.run(read).value
        with session.fork() as copy, copy.fork() as grandchild:
            for _ in range(3):
                (seen,) = {each.run(read).value for each in (session, copy, grandchild)}
            copy.run("file.close(), os.close(raw)")
            assert {session.run(read).value, grandchild.run(read).value} != {seen}
            assert copy.run("os.close(os.open(json.__file__, os.O_RDONLY)); 1").value == "1"


def test_a_fork_of_a_session_that_never_ran_is_a_new_session(box: LocalBox) -> None:
    with box.session(seed=5) as session, session.fork() as copy:
        code = "import random\nrandom.random()"
        assert session.run(code).value == copy.run(code).value


def test_a_dead_fork_server_is_infrastructure_and_is_replaced(box: LocalBox) -> None:
    session = box.session()
    session.run("x = 1")
    for pid in box.server_pids:
        os.kill(pid, signal.SIGKILL)
    for server in [server for pool in box._pools.values() for server in pool.servers]:
        server.process.wait()
    with pytest.raises(SandboxError):
        session.run("import time; time.sleep(60)")
    session.close()
    for _ in range(3):
        assert box.run("print(1)").stdout == "1\n"
    with box.session() as fresh:
        assert fresh.run("2").value == "2"


def test_a_session_whose_fork_server_is_dead_can_soon_be_copied_again() -> None:
    with LocalBox() as box, box.session() as session:
        session.run("x = 1")
        for server in [server for pool in box._pools.values() for server in pool.servers]:
            server.process.kill()
            server.process.wait()
        copy = None
        while copy is None:  # it may hear of it from the interpreter first
            with contextlib.suppress(SandboxError, ForkError):
                copy = session.fork()
        with copy:
            lost = copy.run("2")
            assert (lost.value, lost.state_lost) == ("2", True)


def test_a_copying_that_is_interrupted_is_not_taken_for_a_programs_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with LocalBox() as box, box.session() as session:
        session.run("x = 1")
        with monkeypatch.context() as patch:
            patch.setattr("toolenvs.sandbox.local.Exchange", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.fork()
        after = session.run("2")
        assert (after.status, after.value, after.state_lost) == ("ok", "2", True)


def test_threads_share_a_box(box: LocalBox) -> None:
    def work(number: int) -> list[str]:
        with box.session() as session:
            session.run(f"x = {number}")
            return [session.run("x").value, box.run(f"print({number})").stdout.strip()]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == [[str(n), str(n)] for n in range(24)]


async def test_many_programs_at_once(box: LocalBox) -> None:
    results = await asyncio.gather(*[box.arun(f"print({n})") for n in range(64)])
    assert [result.stdout for result in results] == [f"{n}\n" for n in range(64)]


async def test_sessions_have_asynchronous_faces(box: LocalBox) -> None:
    async with await box.asession(seed=1) as session:
        assert (await session.arun("x = 3\nx")).value == "3"
        assert (await session.arun("import sys\nsys.stdin.read()", stdin="in")).value == "'in'"
        assert (await session.arun("while True: pass", timeout_s=0.2)).status == "timeout"
        assert (await session.arun("import os\nos.abort()")).error == "the interpreter was ended by SIGABRT"
        async with await session.afork() as copy:
            assert (await copy.arun("1")).value == "1"


async def test_cancelling_kills_the_program(box: LocalBox) -> None:
    session = await box.asession()
    await session.arun("x = 1")
    for waiting in (session.arun("while True: pass", timeout_s=60), box.arun("while True: pass", timeout_s=60)):
        task = asyncio.create_task(waiting)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (await session.arun("x")).error == "NameError: name 'x' is not defined"
    await session.aclose()
    assert (await box.arun("print(1)")).stdout == "1\n"


def test_sessions_that_nobody_holds_any_more_take_no_place_and_no_descriptors() -> None:
    with LocalBox(max_sessions=2) as box:
        for number in range(8):
            assert box.session().run(f"{number} + 1").value == str(number + 1)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(8):
            box.session().run("1")
        assert len(os.listdir("/proc/self/fd")) <= before


async def test_sessions_wait_for_a_place_in_order() -> None:
    async with LocalBox(max_sessions=2) as box:
        first, second = await box.asession(), await box.asession()
        order: list[int] = []

        async def wait(number: int) -> None:
            async with await box.asession():
                order.append(number)

        waiting = [asyncio.create_task(wait(n)) for n in range(4)]
        await asyncio.sleep(0)
        assert order == []
        waiting[1].cancel()
        await asyncio.sleep(0)
        await first.aclose()
        await asyncio.gather(waiting[0], waiting[2], waiting[3])
        assert order == [0, 2, 3]
        await second.aclose()


async def test_closing_a_busy_session_ends_its_run() -> None:
    async with LocalBox() as box:
        session = await box.asession()
        await session.arun("1")
        task = asyncio.create_task(session.arun("while True: pass", timeout_s=60))
        await asyncio.sleep(0.2)
        await session.aclose()
        assert (await task).status == "crashed"
        with pytest.raises(SandboxError, match="closed"):
            await session.arun("1")


@pytest.mark.parametrize("how", ["run", "arun", "fork", "afork"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_session_may_be_closed_as_a_run_begins(monkeypatch: pytest.MonkeyPatch, how: str, begun: bool) -> None:
    begin = base.OneAtATime.__enter__
    with LocalBox() as box:
        session = box.session()
        if begun:
            session.run("1")

        def closed_meanwhile(guard: base.OneAtATime) -> None:  # by another thread
            session.close()
            begin(guard)

        monkeypatch.setattr(base.OneAtATime, "__enter__", closed_meanwhile)
        begun_late = {
            "run": lambda: session.run("1"),
            "arun": lambda: asyncio.run(session.arun("1")),
            "fork": session.fork,
            "afork": lambda: asyncio.run(session.afork()),
        }
        with pytest.raises(SandboxError, match="this session is closed"):
            begun_late[how]()
        assert not session._busy.locked()


def test_a_session_refuses_two_runs_at_once() -> None:
    with LocalBox() as box, box.session() as session:
        thread = threading.Thread(target=session.run, args=("import time; time.sleep(0.5)",))
        thread.start()
        refused = False
        while thread.is_alive() and not refused:
            try:
                session.run("1", timeout_s=0.01)
            except SandboxError:
                refused = True
        thread.join()
        assert refused


def test_a_closed_box_refuses() -> None:
    box = LocalBox()
    session = box.session()
    box.close()
    box.close()
    with pytest.raises(SandboxError, match="closed"):
        box.run("1")
    with pytest.raises(SandboxError, match="closed"):
        session.run("1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_isolation": "forx"}, "did you mean 'fork'"),
        ({"memory_mbb": 1}, "did you mean 'memory_mb'"),
        ({"memory_mb": -1}, "memory_mb must be a positive number, not -1"),
        ({"memory_mb": 10**12}, r"memory_mb must be a positive number, not 1000000000000 \(at most 2147483647\)"),
        ({"timeout_s": "5"}, "timeout_s must be a positive number"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sandbox.open("local", **options)


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'local'"):
        sandbox.open("lokal")


def test_no_silent_downgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolenvs.sandbox import local

    class Broken(local.Pool):
        def start(self) -> None:
            if self._plan["tier"] != "fork":
                raise SandboxError("no namespaces today")
            super().start()

    monkeypatch.setattr(local, "Pool", Broken)
    with pytest.raises(IsolationError, match="no namespaces today"):
        sandbox.open("local", min_isolation="namespace")
    with sandbox.open("local", min_isolation="fork") as box:
        assert box.tier == "fork"


def test_other_platforms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.sandbox.local.sys.platform", "darwin")
    with pytest.raises(IsolationError, match="needs Linux, not darwin"):
        sandbox.open("local")


def test_probe_tells_what_works_and_what_stays_open() -> None:
    tiers = sandbox.probe()
    assert [tier.tier for tier in tiers] == ["hardened", "namespace", "fork"]
    assert tiers[2].works, tiers[2].detail
    assert all(tier.detail and tier.does_not_cover for tier in tiers)


def test_the_shared_box_is_one_per_options_and_process() -> None:
    box = sandbox.shared(memory_mb=300)
    assert sandbox.shared(memory_mb=300) is box
    assert sandbox.shared(memory_mb=301) is not box
    assert box.run("print(1)").stdout == "1\n"
    results = multiprocessing.get_context("fork").SimpleQueue()

    def child() -> None:
        try:
            box.run("print(1)")
        except SandboxError as error:
            refused = str(error)
        results.put((refused, sandbox.shared(memory_mb=300).run("print(2)").stdout))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert results.get() == (
        "this sandbox belongs to the parent process: open one here, or use sandbox.shared()",
        "2\n",
    )
    process.join()
    assert process.exitcode == 0
    assert box.run("print(3)").stdout == "3\n"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_host_does_not_wait_for_a_place_that_its_parent_has() -> None:
    with LocalBox(max_running=1) as box:
        taken = threading.Thread(target=box.run, args=("while True: pass",), kwargs={"timeout_s": 2})
        taken.start()
        while box._running._free:
            time.sleep(0.001)
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # whose default ends it
            told = 0
            try:
                box.run("1")
            except SandboxError:
                told += 1
            try:
                asyncio.run(box.arun("1"))
            except SandboxError:
                told += 1
            os._exit(told)
        taken.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_a_program_finds_nothing_that_it_has_not_imported(box: LocalBox) -> None:
    with box.session() as session:
        for place in (box, session):
            assert place.run("sorted(name for name in globals() if not name.startswith('__'))").value == "[]"
            assert place.run("math.pi").error == "NameError: name 'math' is not defined"
