"""What is written for SandboxFusion works against our server: its published client, unchanged, is the judge."""

import asyncio
import base64
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def run(served, fusion: ModuleType) -> Any:
    def one(code: str, **more: Any) -> Any:
        request = fusion.RunCodeRequest(code=code, language="python", **more)
        return fusion.run_code(request, endpoint=served.url, max_attempts=1)

    return one


def test_a_program_that_ends_well(run) -> None:
    response = run("print(2 + 2)")
    assert (response.status.value, response.message) == ("Success", "")
    assert response.run_result.status.value == "Finished"
    assert (response.run_result.return_code, response.run_result.stdout) == (0, "4\n")
    assert response.run_result.execution_time > 0
    assert response.compile_result is None


@pytest.mark.parametrize(
    ("code", "return_code", "stderr"),
    [
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("x = (", 1, "SyntaxError: '(' was never closed\n"),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('enough')", 1, "enough\n"),
        ("import os; os._exit(4)", 4, ""),
        ("import os; os.abort()", -6, ""),
        ("x = bytearray(10 ** 10)", 1, "MemoryError\n"),
    ],
)
def test_a_program_that_ends_badly(run, code: str, return_code: int, stderr: str) -> None:
    response = run(code)
    assert response.status.value == "Failed"
    assert response.run_result.status.value == "Finished"
    assert response.run_result.return_code == return_code
    assert response.run_result.stderr.endswith(stderr)
    assert ("Traceback" in response.run_result.stderr) == ("Error" in stderr and "Syntax" not in stderr)


def test_a_program_that_runs_too_long(run) -> None:
    response = run("print('before', flush=True)\nwhile True: pass", run_timeout=2)
    assert response.status.value == "Failed"
    assert response.run_result.status.value == "TimeLimitExceeded"
    assert response.run_result.return_code is None
    assert response.run_result.stdout == "before\n"


def test_standard_input(run) -> None:
    assert run("print(input()[::-1])", stdin="abc\n").run_result.stdout == "cba\n"
    assert "EOFError" in run("input()").run_result.stderr


def test_output_beyond_a_pipe_comes_whole(run) -> None:
    response = run("print('x' * 1_000_000)")
    assert response.status.value == "Success"
    assert len(response.run_result.stdout) == 1_000_001


def test_files_go_in_and_come_out(run) -> None:
    big = bytes(range(256)) * 4000
    code = "data = open('in/big', 'rb').read()\nopen('out', 'wb').write(data[::-1])\nprint(open('empty').read() == '')"
    files = {"in/big": base64.b64encode(big).decode(), "empty": "", "none": None}
    response = run(code, files=files, fetch_files=["out", "absent"])
    assert response.run_result.stdout == "True\n", response.run_result.stderr
    assert set(response.files) == {"out"}
    assert base64.b64decode(response.files["out"]) == big[::-1]


def test_programs_do_not_see_each_other(run) -> None:
    run("open('left', 'w').write('x'); import builtins; builtins.left = 1")
    response = run("import builtins, os; print(os.path.exists('left'), hasattr(builtins, 'left'))")
    assert response.run_result.stdout == "False False\n"


def test_many_at_once(served, fusion: ModuleType) -> None:
    async def all_of_them() -> list[Any]:
        requests = (fusion.RunCodeRequest(code=f"print({number} ** 2)", language="python") for number in range(40))
        return await asyncio.gather(*(fusion.run_code_async(request, endpoint=served.url) for request in requests))

    responses = asyncio.run(all_of_them())
    assert [response.run_result.stdout for response in responses] == [f"{number**2}\n" for number in range(40)]


def test_the_summary_of_their_client(run, fusion: ModuleType) -> None:
    mapping = fusion.SummaryMapping(Success="ok", Failed="failed", RunFailed="wrong", RunTimeout="late")
    summary = fusion.summary_run_code_result
    assert summary(run("print(1)"), mapping) == "ok"
    assert summary(run("raise ValueError"), mapping) == "wrong"
    assert summary(run("while True: pass", run_timeout=0.3), mapping) == "late"


def test_another_language_is_refused_as_one_that_is_not_known(served, fusion: ModuleType) -> None:
    request = fusion.RunCodeRequest(code="int main() {}", language="cpp")
    with pytest.raises(Exception, match=r"code 422.*only 'python' runs on this server, not 'cpp'"):
        fusion.run_code(request, endpoint=served.url, max_attempts=1)


def test_a_notebook(served, fusion: ModuleType) -> None:
    cells = ["a = 'hello'", "a", "print(a)", "import sys\n_ = sys.stderr.write('oops')", "assert False", "print(a)"]
    request = fusion.RunJupyterRequest(cells=[*cells, "open('f', 'w').write(a)"], fetch_files=["f"])
    response = fusion.run_jupyter(request, endpoint=served.url, max_attempts=1)
    assert response.status.value == "Success"
    assert response.driver.status.value == "Finished"
    assert response.cells[1].display == [{"text/plain": "'hello'"}]
    assert response.cells[2].stdout == "hello\n"
    assert response.cells[3].stderr == "oops"
    assert response.cells[4].error[0]["ename"] == "AssertionError"
    assert response.cells[4].stderr == ""
    assert response.cells[5].stdout == "hello\n"
    assert base64.b64decode(response.files["f"]) == b"hello"


def test_a_notebook_that_runs_too_long(served, fusion: ModuleType) -> None:
    for limits in ({"total_timeout": 2}, {"cell_timeout": 2}):
        request = fusion.RunJupyterRequest(cells=["1", "while True: pass", "2"], **limits)
        response = fusion.run_jupyter(request, endpoint=served.url, max_attempts=1)
        assert response.status.value == "Failed"
        assert response.driver.status.value == "TimeLimitExceeded"
        assert len(response.cells) == 2
