"""The remote backend, against a server that answers as SandboxFusion does, and against our own."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from toolenvs import sandbox
from toolenvs.errors import ConfigError, ForkError, IsolationError, SandboxError
from toolenvs.sandbox.remote import RemoteBox
from toolenvs.tasks.task import Task
from toolenvs.tools.python import Options, Tool

Answer = tuple[int, dict[str, str], Any]
TRACEBACK = 'Traceback (most recent call last):\n  File "/tmp/tmpq/tmpx.py", line 1, in <module>\n'


def fusion(outcome: str, message: str = "", **ran: Any) -> Answer:
    """As SandboxFusion answers /run_code."""
    run = {"status": "Finished", "execution_time": 0.02, "return_code": 0, "stdout": "", "stderr": "", **ran}
    body = {"status": outcome, "message": message, "compile_result": None, "run_result": run}
    return 200, {}, {**body, "executor_pod_name": None, "files": {}}


def broken(message: str) -> Answer:
    return 200, {}, {**fusion("SandboxError", message)[2], "run_result": None}


class Fake:
    """Gives answers in turn, the last one for ever; None drops the connection. Keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer | None] = [fusion("Success", stdout="4\n")]
        self.asked: list[tuple[str, dict[str, str], Any, float]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append((self.path, dict(self.headers), json.loads(body or b"null"), time.monotonic()))
                answer = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
                if self.path == "/health":
                    answer = 404, {}, {"detail": "Not Found"}
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, content = answer
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def fake() -> Iterator[Fake]:
    one = Fake()
    thread = threading.Thread(target=one.server.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.server.shutdown()
    thread.join()
    one.server.server_close()


@pytest.fixture
def box(fake: Fake) -> Iterator[RemoteBox]:
    with RemoteBox(fake.url, token="") as opened:
        yield opened


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of ours."""
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "sandbox", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


@pytest.fixture(scope="module")
def ours(url: str) -> Iterator[RemoteBox]:
    with sandbox.open("remote", url=url) as opened:
        assert isinstance(opened, RemoteBox)
        yield opened


@pytest.fixture(scope="module")
def local() -> Iterator[sandbox.Box]:
    with sandbox.open("local") as opened:
        yield opened


def test_what_is_asked_has_their_names(fake: Fake, box: RemoteBox) -> None:
    box.run("print(2 + 2)", timeout_s=3, stdin="in", seed=7)
    path, headers, body, _ = fake.asked[0]
    assert path == "/run_code"
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers
    expected = {"code": "print(2 + 2)", "language": "python", "run_timeout": 3, "stdin": "in"}
    assert body == {**expected, "memory_limit_MB": 512, "seed": 7, "outputs": True}


def test_files_are_sent_as_they_take_them(fake: Fake, box: RemoteBox) -> None:
    box.run("1", files={"a.csv": b"1,2"})
    assert fake.asked[0][2]["files"] == {"a.csv": "MSwy"}
    with pytest.raises(ConfigError, match="cannot be given the file '../a'"):
        box.run("1", files={"../a": b""})
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (fusion("Success", stdout="4\n"), "ok", None),
        (
            fusion("Failed", return_code=1, stderr=TRACEBACK + "ZeroDivisionError: division by zero\n"),
            "error",
            "ZeroDivisionError: division by zero",
        ),
        (fusion("Failed", return_code=1, stderr=TRACEBACK + "MemoryError\n"), "memory", "MemoryError"),
        (
            fusion("Failed", return_code=1, stderr="SyntaxError: '(' was never closed"),
            "error",
            "SyntaxError: '(' was never closed",
        ),
        (fusion("Failed", return_code=1, stderr="no more"), "error", "the interpreter exited with code 1"),
        (fusion("Failed", return_code=3), "crashed", "the interpreter exited with code 3"),
        (fusion("Failed", return_code=-9), "crashed", "the interpreter was ended by signal 9"),
        (
            fusion("Failed", status="TimeLimitExceeded", return_code=None, stdout=None, stderr=None),
            "timeout",
            "TimeoutError: the program ran longer than 2 s",
        ),
    ],
)
def test_their_answers_are_understood(fake: Fake, box: RemoteBox, answer: Answer, status: str, error: str) -> None:
    fake.answers = [answer]
    result = box.run("...", timeout_s=2)
    assert (result.status, result.error, result.value) == (status, error, None)
    assert result.stdout == (answer[2]["run_result"]["stdout"] or "")
    assert result.stderr == (answer[2]["run_result"]["stderr"] or "")


def test_long_output_is_cut(fake: Fake) -> None:
    fake.answers = [fusion("Success", stdout="x" * 100)]
    with RemoteBox(fake.url, output_chars=10) as box:
        result = box.run("")
    assert (result.stdout, result.truncated) == ("x" * 10, True)


@pytest.mark.parametrize(
    "fault", [None, (503, {}, "busy"), (429, {}, "busy"), (502, {}, b""), (504, {}, b"\xff"), broken("x")]
)
def test_faults_that_pass_are_outlasted(fake: Fake, box: RemoteBox, fault: Answer | None) -> None:
    fake.answers = [fault, fault, fusion("Success", stdout="4\n")]
    assert box.run("print(2 + 2)").stdout == "4\n"
    assert len(fake.asked) == 3


def test_faults_that_last_are_infrastructure(fake: Fake) -> None:
    fake.answers = [broken("the disk is full")]
    with RemoteBox(fake.url, attempts=3) as box, pytest.raises(SandboxError, match="asked 3 times.*the disk is full"):
        box.run("print(1)")
    assert len(fake.asked) == 3
    with (
        RemoteBox("http://127.0.0.1:9", attempts=2) as box,
        pytest.raises(SandboxError, match="asked 2 times: Connect"),
    ):
        box.run("print(1)")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((422, {}, {"detail": [{"loc": ["body", "language"], "msg": "no such"}]}), "422: body.language: no such"),
        ((500, {}, {"detail": "boom", "traceback": []}), "500: boom"),
        ((401, {}, {"detail": "no"}), "401: no"),
        ((301, {"Location": "http://127.0.0.1:9/"}, b""), "301"),
    ],
)
def test_refusals_are_not_repeated(fake: Fake, box: RemoteBox, answer: Answer, message: str) -> None:
    fake.answers = [answer]
    with pytest.raises(SandboxError, match=f"asked once: status {message}"):
        box.run("print(1)")
    assert len(fake.asked) == 1


OWN = {"status": "ok", "value": None, "error": None, "truncated": False, "state_lost": False}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        [],
        None,
        "x",
        {},
        {"run_result": None},
        {"run_result": {"status": "?"}},
        {"run_result": {"status": "Finished", "return_code": "0"}},
        {"run_result": {"status": "Finished", "return_code": 0, "stdout": 4}},
        {"run_result": {}, "toolenvs": {"status": "fine"}},
        fusion("Success")[2] | {"toolenvs": {**OWN, "files": {"../x": "aGk="}}},
        fusion("Success")[2] | {"toolenvs": {**OWN, "files": {"x": "aGk"}}},
        fusion("Success")[2] | {"toolenvs": {**OWN, "files": ["x"]}},
        fusion("Success")[2] | {"toolenvs": {**OWN, "files": {f"{n}": "" for n in range(17)}}},
        fusion("Success")[2] | {"toolenvs": {**OWN, "exit_code": "1"}},
        b"[" * 100_000,
    ],
)
def test_strange_answers_are_infrastructure(fake: Fake, box: RemoteBox, content: Any) -> None:
    fake.answers = [(200, {}, content)]
    with pytest.raises(SandboxError, match="answered with something else"):
        box.run("print(1)")


def test_an_account_of_our_own_is_taken(fake: Fake, box: RemoteBox) -> None:
    """Nothing but what is named is wrong with the strange answers."""
    own = {**OWN, "status": "crashed", "files": {"x": "aGk="}, "exit_code": -9}
    fake.answers = [(200, {}, fusion("Failed")[2] | {"toolenvs": own})]
    result = box.run("print(1)")
    assert (result.status, result.files, result.exit_code) == ("crashed", {"x": b"hi"}, -9)


def test_retry_after_is_honoured(fake: Fake, box: RemoteBox) -> None:
    fake.answers = [(429, {"Retry-After": "2"}, "busy"), fusion("Success")]
    box.run("print(1)")
    assert fake.asked[1][3] - fake.asked[0][3] >= 2


def test_the_deadline_bounds_all_attempts(fake: Fake) -> None:
    fake.answers = [(503, {"Retry-After": "100000"}, "busy")]
    with RemoteBox(fake.url, deadline_s=4) as box, pytest.raises(SandboxError, match="asked once: status 503"):
        box.run("print(1)", timeout_s=0.1)
    hangs = threading.Event()
    fake.server.RequestHandlerClass.do_POST = lambda _: hangs.wait(60)  # type: ignore[attr-defined]
    with RemoteBox(fake.url, deadline_s=0.5) as box, pytest.raises(SandboxError, match="no answer in time"):
        box.run("print(1)", timeout_s=0.1)
    hangs.set()


def test_programs_that_cannot_be_sent_are_the_models_fault(fake: Fake) -> None:
    with RemoteBox(fake.url, code_chars=10) as box:
        assert box.run("#" * 11).error == "ValueError: the program is longer than 10 characters"
        assert box.run("", stdin="#" * 11).status == "error"
        assert "lone surrogate" in str(box.run("'\ud800'").error)
        assert not fake.asked
        fake.answers = [(413, {}, {"detail": "the program is too long"})]
        result = box.run("#")
    assert (result.status, result.error) == ("error", "ValueError: the program is too long")


def test_sessions_need_a_server_of_ours(box: RemoteBox) -> None:
    with pytest.raises(SandboxError, match="has no sessions"):
        box.session()


def test_isolation_has_to_be_told(fake: Fake, url: str) -> None:
    with RemoteBox(fake.url, min_isolation="namespace") as box, pytest.raises(IsolationError, match="does not say"):
        box.run("print(1)")
    with RemoteBox(url, min_isolation="fork") as box:
        assert box.run("print(1)").status == "ok"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "url = '' is no address"),
        ({"url": "127.0.0.1:8080"}, "is no address"),
        ({"url": "http://x", "timeout_s": 0}, "timeout_s must be a positive number"),
        ({"url": "http://x", "min_isolation": "strong"}, "no isolation 'strong'"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sandbox.open("remote", **options)


def test_the_token_is_sent(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLENVS_SANDBOX_TOKEN", "s3cret")
    with RemoteBox(fake.url) as box:
        box.run("")
    assert fake.asked[0][1]["Authorization"] == "Bearer s3cret"


def test_a_closed_box_says_so(fake: Fake) -> None:
    box = RemoteBox(fake.url)
    box.close()
    box.close()
    with pytest.raises(SandboxError, match="is closed"):
        box.run("print(1)")


def test_a_forked_child_is_told_to_open_its_own(box: RemoteBox) -> None:
    box.run("print(1)")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            try:
                box.run("print(1)")
            except SandboxError as error:
                os.write(write, str(error).encode())
            box.close()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    assert b"belongs to the parent process" in os.read(read, 1000)
    os.close(read)


CASES: list[tuple[str, str]] = [
    ("print(2 + 2)\n7", "ok"),
    ("1 / 0", "error"),
    ("import sys; sys.exit(3)", "error"),
    ("x = bytearray(10 ** 10)", "memory"),
    ("import os; os._exit(4)", "crashed"),
    ("import os\nwhile True: os.write(1, b'x' * 100_000)", "output"),
    ("while True: pass", "timeout"),
    ("import random; print(random.random())", "ok"),
    ("print(input())", "ok"),
    ("'\\ud800'", "ok"),
]


@pytest.mark.parametrize(("code", "status"), CASES)
def test_our_server_gives_what_a_local_box_gives(ours: RemoteBox, local: Any, code: str, status: str) -> None:
    timeout_s = 1 if status == "timeout" else 60
    expected = local.run(code, timeout_s=timeout_s, stdin="text", seed=3)
    got = ours.run(code, timeout_s=timeout_s, stdin="text", seed=3)
    assert (got.status, got.value, got.error, got.state_lost) == (status, expected.value, expected.error, False)
    assert (got.stdout[:1000], got.truncated) == (expected.stdout[:1000], expected.truncated)
    assert len(got.stdout) <= 65_536
    assert got.exit_code == expected.exit_code


def test_files_go_and_come(ours: RemoteBox) -> None:
    code = "import os\ndata = open('a').read()\nopen('b', 'w').write(data * 2)\n"
    code += "sorted(filter(os.path.isfile, os.listdir()))"
    if ours._thread.run(ours._server())["isolation"] == "fork":
        with pytest.raises(SandboxError, match="in the fork tier programs have no folder"):
            ours.run(code, files={"a": b"x"})
        return
    result = ours.run(code, files={"a": b"x"})
    assert (result.value, result.files) == ("['a', 'b']", {"b": b"xx"})
    with ours.session() as session:
        assert session.run("1").files == {}
        assert session.run(code, files={"a": b"y"}).files == {"b": b"yy"}
        assert session.run("data").value == "'y'"


def test_figures_come_back(ours: RemoteBox) -> None:
    result = ours.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", timeout_s=60)
    assert list(result.files) == ["figure-1.png"]
    assert result.files["figure-1.png"].startswith(b"\x89PNG")


def test_sessions_and_forks(ours: RemoteBox) -> None:
    with ours.session() as session:
        session.run("x = 40")
        assert session.run("x + 2").value == "42"
        with session.fork() as copy:
            copy.run("x = 0")
            assert (session.run("x").value, copy.run("x").value) == ("40", "0")
        session.run("file = open('f', 'w')")
        with pytest.raises(ForkError, match="open files"):
            session.fork()
        assert session.run("x").value == "40"


def test_a_fresh_session_can_be_forked(ours: RemoteBox) -> None:
    with ours.session() as session, session.fork() as copy:
        assert copy.run("1").value == "1"


def test_a_crash_loses_state_and_the_session_goes_on(ours: RemoteBox) -> None:
    with ours.session() as session:
        session.run("x = 1")
        crashed = session.run("import os; os._exit(1)")
        assert (crashed.status, crashed.state_lost) == ("crashed", True)
        assert session.run("x").error == "NameError: name 'x' is not defined"
    with pytest.raises(SandboxError, match="is closed"):
        session.run("1")


async def test_cancelling_ends_the_interpreter_and_says_so(ours: RemoteBox) -> None:
    async with await ours.asession() as session:
        await session.arun("x = 1")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.arun("while True: pass", timeout_s=100), 0.5)
        result = await session.arun("x", timeout_s=30)
        assert (result.status, result.state_lost) == ("error", True)
        assert not (await session.arun("1")).state_lost


async def test_cancelling_a_stateless_run_stops_it_at_the_server(url: str, ours: RemoteBox) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:

        async def until_running(count: int) -> None:
            while f"toolenvs_sandbox_running {count}\n" not in (await client.get(f"{url}/metrics")).text:
                await asyncio.sleep(0.02)

        run = asyncio.create_task(ours.arun("while True: pass", timeout_s=100))
        await asyncio.wait_for(until_running(1), 60)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.wait_for(until_running(0), 60)


async def test_cancelling_at_any_moment_leaves_a_session_that_works(ours: RemoteBox) -> None:
    async with await ours.asession() as session:
        for number in range(40):
            run = asyncio.create_task(session.arun("while True: pass", timeout_s=100))
            await asyncio.sleep(0.0005 * number)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert (await session.arun(f"{number}", timeout_s=60)).value == f"{number}"


async def test_one_run_at_a_time(ours: RemoteBox) -> None:
    async with await ours.asession() as session:
        first = asyncio.create_task(session.arun("import time; time.sleep(0.5); 1"))
        await asyncio.sleep(0.1)
        with pytest.raises(SandboxError, match="busy"):
            await session.arun("2")
        assert (await first).value == "1"


def test_one_box_serves_threads_and_loops(ours: RemoteBox) -> None:
    async def both(number: int) -> list[str | None]:
        return [result.value for result in await asyncio.gather(ours.arun(f"{number}"), ours.arun(f"{number} + 1"))]

    def one(number: int) -> list[str | None]:
        return asyncio.run(both(number)) if number % 2 else [ours.run(f"{number}").value]

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(one, range(24)))
    assert results == [[str(n), str(n + 1)] if n % 2 else [str(n)] for n in range(24)]


def test_a_session_that_its_server_forgot_is_infrastructure_once(ours: RemoteBox) -> None:
    with ours.session() as session:
        session.run("x = 1")
        ours._thread.run(ours._end(session._mine))
        with pytest.raises(SandboxError, match="no such session"):
            session.run("x")
        again = session.run("1")
        assert (again.value, again.state_lost) == ("1", True)


def test_a_server_that_dies_is_infrastructure() -> None:
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "sandbox", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with sandbox.open("remote", url=process.stdout.readline().split()[-1], attempts=2) as box:
            session = box.session()
            session.run("x = 1")
            process.kill()
            process.wait()
            for run in (box.run, session.run):
                with pytest.raises(SandboxError, match="asked 2 times"):
                    run("1")
            session.close()


@pytest.mark.parametrize("kind", ["stateless", "stateful"])
async def test_the_interpreter_tool_uses_it(url: str, kind: Any) -> None:
    tool = Tool(Options(backend="remote", url=url, session=kind))
    await tool.check()
    session = await tool.open(Task(id="t", question="q"), seed=0, progress=0.0)
    assert (await session.call({"code": "x = 40\nprint(x + 2)"})).text == "42"
    second = await session.call({"code": "print(x)"})
    assert second.text == ("40" if kind == "stateful" else "NameError: name 'x' is not defined")
    await session.close()


async def test_the_interpreter_tool_is_stateless_against_theirs(fake: Fake) -> None:
    tool = Tool(Options(backend="remote", url=fake.url))
    session = await tool.open(Task(id="t", question="q"), seed=0, progress=0.0)
    assert (await session.call({"code": "print(2 + 2)"})).text == "4"
    await session.close()
