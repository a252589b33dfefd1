"""Results in the shapes that SandboxFusion's answers have."""

import base64
import re
import signal
from typing import Any

from toolenvs.sandbox import Result
from toolenvs.sandbox.remote import describe

_TRACEBACK = "Traceback (most recent call last):"
_FIGURE = re.compile(r"figure-\d+\.png")


def run_code(result: Result, files: dict[str, str], *, outputs: bool = False) -> dict[str, Any]:
    """The answer to /run_code, with our own account of the result, perhaps with its files, under "toolenvs"."""
    code = return_code(result)
    return {
        "status": "Success" if code == 0 else "Failed",
        "message": "",
        "compile_result": None,
        "run_result": command(result),
        "executor_pod_name": None,
        "files": files,
        "toolenvs": describe(result, files=outputs),
    }


def command(result: Result) -> dict[str, Any]:
    """What became of the process, as a `CommandRunResult`."""
    return {
        "status": "TimeLimitExceeded" if result.status == "timeout" else "Finished",
        "execution_time": result.seconds,
        "return_code": return_code(result),
        "stdout": result.stdout,
        "stderr": _stderr(result),
    }


def failure(message: str) -> dict[str, Any]:
    """The answer where the sandbox itself failed; SandboxFusion's clients try again."""
    return {
        "status": "SandboxError",
        "message": message,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
    }


def return_code(result: Result) -> int | None:
    """What `python program.py` would have ended with: None after a timeout, negative for a signal."""
    error = result.error or ""
    if result.status == "timeout":
        return None
    if result.status == "ok":
        return 0
    if result.status == "error":
        status = error.removeprefix("SystemExit: ")
        exits = error.startswith("SystemExit: ") and re.fullmatch(r"-?\d{1,9}", status)
        return int(status) & 0xFF if exits else 1
    if result.exit_code is not None:
        return result.exit_code
    return 1 if result.status == "memory" else -signal.SIGKILL


def cell(result: Result) -> dict[str, Any]:
    """One cell of /run_jupyter: the traceback is apart from what the cell wrote to standard error."""
    stderr, traceback = result.stderr, []
    errors = []
    if result.status != "ok":
        name, _, text = (result.error or result.status).partition(": ")
        if result.status not in ("error", "memory", "timeout"):
            name, text = "DeadKernelError", result.error or result.status
        start = stderr.rfind(_TRACEBACK)
        if start >= 0:
            stderr, traceback = stderr[:start], stderr[start:].rstrip("\n").split("\n")
        errors.append({"ename": name, "evalue": text, "traceback": traceback or [result.error or result.status]})
    display = [
        {"image/png": base64.b64encode(content).decode()}
        for name, content in result.files.items()
        if _FIGURE.fullmatch(name)
    ]
    if result.value is not None:
        display.append({"text/plain": result.value})
    return {"stdout": result.stdout, "stderr": stderr, "display": display, "error": errors}


def _stderr(result: Result) -> str:
    """Without the traceback of an exit that was asked for, of which `python program.py` shows the message at most."""
    error = result.error or ""
    start = result.stderr.rfind(_TRACEBACK)
    if result.status == "error" and not result.stderr and not error.startswith("SystemExit"):
        return f"{error}\n"  # of a program that cannot even be sent to an interpreter
    if result.status != "error" or not error.startswith("SystemExit") or start < 0:
        return result.stderr
    message = error.removeprefix("SystemExit").removeprefix(": ")
    shown = "" if re.fullmatch(r"-?\d*", message) else f"{message}\n"
    return result.stderr[:start] + shown
