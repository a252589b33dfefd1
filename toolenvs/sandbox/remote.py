"""The `remote` backend: programs run on a server that speaks SandboxFusion's HTTP interface.

    with sandbox.open("remote", url="http://127.0.0.1:8080") as box:
        box.run("print(2 + 2)").stdout

Against SandboxFusion itself `run` works, for Python; results are read from what it says of the process, so there is no
`value`, no file comes back, and seeds are not taken. Against `toolenvs serve sandbox` results are complete; sessions
and forks work too. Shapes and statuses follow the package `sandbox-fusion` 0.3.7; the description of a result under
"toolenvs" is our own.
"""

import asyncio
import base64
import concurrent.futures
import contextlib
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from toolenvs import address, bearer
from toolenvs.errors import ConfigError, ForkError, IsolationError, MissingExtraError, SandboxError
from toolenvs.loop_thread import LoopThread
from toolenvs.retrying import AttemptFailed, retried, retry_after_s
from toolenvs.sandbox import base, inputs, outputs
from toolenvs.sandbox.result import Result, Status

Answer = dict[str, Any]

RETRIED = (429, 502, 503, 504)
"""Status codes that may be another one a moment later."""
_HEALTH_S = 10.0
_CONTROL_S = 20.0
"""Beyond which a request that runs no program counts as lost."""


class RemoteBox(base.Box):
    """Programs on a server.

    Args:
        url: of the server, such as "http://127.0.0.1:8080".
        token: sent as a bearer token; "": none; None: what the environment variable TOOLENVS_SANDBOX_TOKEN holds.
        timeout_s: wall-clock limit of a run, where none is given.
        memory_mb: memory limit of a program, which the server enforces.
        output_chars: characters of each stream that are kept.
        code_chars: longest program, and longest standard input.
        seed: of runs, where none is given, for a server of ours; None: one that is drawn, and can be read in `seed`.
        min_isolation: "namespace" or "hardened": the server has to say that it is as strong. "fork" and "" ask nothing:
            a program behind another server's walls is that server's to hold.
        attempts: how often a request is sent until it counts as failed.
        answer_s: beyond the program's own time, after so long without an answer an attempt counts as lost.
        deadline_s: beyond the program's own time, what all attempts and the waits between them may take.

    Raises:
        ConfigError: an argument is wrong.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        url: str = "",
        *,
        token: str | None = None,
        timeout_s: float = 10.0,
        memory_mb: int = 512,
        output_chars: int = 65_536,
        code_chars: int = 2_000_000,
        seed: int | None = 0,
        min_isolation: str = "",
        attempts: int = 6,
        answer_s: float = 60.0,
        deadline_s: float = 180.0,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("httpx", "remote", "the remote sandbox") from None
        self.url = address.http(url, "sandbox: url", 8080)
        if min_isolation:
            base.check_tier(min_isolation)
        numbers = {"timeout_s": timeout_s, "memory_mb": memory_mb, "output_chars": output_chars}
        numbers |= {"code_chars": code_chars, "attempts": attempts, "answer_s": answer_s, "deadline_s": deadline_s}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**31:
                raise ConfigError(f"sandbox: {name} must be a positive number, not {value!r} (at most {2**31 - 1})")
        headers = bearer.headers(bearer.token(token, "TOOLENVS_SANDBOX_TOKEN"))
        self.seed = inputs.seed(seed)
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._output_chars = output_chars
        self._code_chars = code_chars
        self._min_isolation = min_isolation
        self._attempts = attempts
        self._answer_s = answer_s
        self._deadline_s = deadline_s
        self._faults = (httpx.TransportError,)
        self._thread = LoopThread("remote-sandbox", owner="this sandbox", error=SandboxError)
        self._endings: set[concurrent.futures.Future[None]] = set()
        """Of interpreters, waited for by nobody but `close`."""
        pool = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        # Nothing of the environment: programs go where the url says, through no proxy that a variable names.
        self._client = httpx.AsyncClient(base_url=self.url, headers=headers, limits=pool, timeout=None, trust_env=False)
        self._health: Answer | None = None

    def run(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """Run `code` in a fresh interpreter of the server; see `Box.run`."""
        return self._thread.run(self._run(code, timeout_s, stdin, seed, inputs.check(files)))

    async def arun(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """As `run`. Cancelling closes the connection, whereupon a server of ours kills the program."""
        return await self._thread.arun(self._run(code, timeout_s, stdin, seed, inputs.check(files)))

    def session(self, *, seed: int | None = None) -> "RemoteSession":
        """A stateful interpreter of the server.

        Raises:
            SandboxError: the server cannot be reached, or has no sessions.
        """
        return self._thread.run(self._session(seed))

    async def asession(self, *, seed: int | None = None) -> "RemoteSession":
        """As `session`."""
        return await self._thread.arun(self._session(seed))

    def close(self) -> None:
        """Close the connections; sessions that are still open end at the server when they have been idle for long."""
        if self._thread.usable:
            concurrent.futures.wait(tuple(self._endings))
            self._thread.close(self._client.aclose)

    def _end_some_time(self, mine: "_Interpreter") -> None:
        """Have the server end an interpreter, and do not wait for it."""
        with contextlib.suppress(SandboxError):  # it is closed, or the parent process's
            ending = self._thread.submit(self._end(mine))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def _end(self, mine: "_Interpreter") -> None:
        try:
            await asyncio.wait_for(self._client.delete(f"/v1/sessions/{mine.key}"), _HEALTH_S)
        except (TimeoutError, *self._faults):
            pass  # the server ends it when it has been idle for long

    async def _run(
        self, code: str, timeout_s: float | None, stdin: str, seed: int | None, files: dict[str, bytes]
    ) -> Result:
        refused = self._refused(code, stdin)
        if refused:
            return refused
        if self._min_isolation not in ("", "fork"):
            await self._check_isolation()
        body = self._body(code, timeout_s, stdin, files) | {
            "language": "python",
            "memory_limit_MB": self._memory_mb,
            "seed": int(self.seed if seed is None else seed),
        }
        return await self._result("/run_code", body)

    async def _session(self, seed: int | None) -> "RemoteSession":
        health = await self._server()
        if not health.get("sessions"):
            raise SandboxError(
                f"{self.url} has no sessions (it is no `toolenvs serve sandbox`): run programs statelessly there"
            )
        await self._check_isolation()
        return RemoteSession(self, int(self.seed if seed is None else seed))

    async def _server(self) -> Answer:
        """What the server says of itself; empty where it says nothing, as SandboxFusion."""
        if self._health is None:
            response = await self._send("GET", "/health", None, _HEALTH_S, allowed=(200, 401, 403, 404, 405, 422))
            answer = _json(response) if response.status_code == 200 else {}
            self._health = answer if isinstance(answer, dict) else {}
        return self._health

    async def _check_isolation(self) -> None:
        if self._min_isolation in ("", "fork"):
            return
        health = await self._server()
        isolation = health.get("isolation")
        if isolation not in base.TIERS[base.TIERS.index(self._min_isolation) :]:
            known = f"has {isolation!r}" if isolation else "does not say what it has"
            raise IsolationError(f"{self.url} {known}, but min_isolation is {self._min_isolation!r}")

    def _body(self, code: str, timeout_s: float | None, stdin: str, files: dict[str, bytes]) -> Answer:
        limit_s = inputs.limit_s(timeout_s, self._timeout_s)
        given = {"files": _encoded(files)} if files else {}
        return {"code": code, "stdin": stdin, "run_timeout": limit_s, "outputs": True, **given}

    def _refused(self, code: str, stdin: str) -> Result | None:
        return inputs.refused(code, stdin, self._code_chars)

    async def _result(self, path: str, body: Answer) -> Result:
        """Send a program; what became of it."""
        started_s = time.monotonic()
        response = await self._send("POST", path, body, body["run_timeout"], allowed=(200, 413))
        seconds = time.monotonic() - started_s
        answer = _json(response)
        if response.status_code == 413:  # the program's size is the program's doing
            return Result("error", error=f"ValueError: {_detail(answer)}", seconds=seconds)
        try:
            return parse(answer, output_chars=self._output_chars, seconds=seconds, timeout_s=body["run_timeout"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SandboxError(f"{self.url}{path} answered with something else: {str(answer)[:200]}") from error

    async def _send(
        self, method: str, path: str, body: Answer | None, run_s: float, *, allowed: tuple[int, ...] = (200,)
    ) -> Any:
        """The response, after as many attempts as it takes and may take.

        Raises:
            SandboxError: every attempt failed, or the server refused.
        """

        async def attempt() -> Any:
            try:
                response = await self._client.request(method, path, json=body)
            except self._faults as error:
                raise AttemptFailed(f"{type(error).__name__}: {error}") from error
            status = response.status_code
            if status in allowed:
                failed = _failure(response) if path.endswith(("/run_code", "/run")) else None
                if failed is None:
                    return response
                raise AttemptFailed(f"the server's sandbox failed: {failed}")
            told, after_s = _detail(_json(response)), retry_after_s(response.headers.get("retry-after", ""))
            raise AttemptFailed(f"status {status}: {told}", final=status not in RETRIED, after_s=after_s)

        return await retried(
            attempt,
            name=self.url + path,
            error=SandboxError,
            attempts=self._attempts,
            answer_s=run_s + self._answer_s,
            end_s=time.monotonic() + run_s + self._deadline_s,
        )


@dataclass(slots=True)
class _Interpreter:
    """One interpreter of a session, from its beginning at the server to its end."""

    key: str
    begun: bool = False
    number: int = 0
    """Of its last run."""


class RemoteSession(base.Session):
    """An interpreter of a server, which keeps its state between runs."""

    def __init__(self, box: RemoteBox, seed: int, copy: str = "") -> None:
        self._box = box
        self._seed = seed
        self._mine = _Interpreter(copy, begun=True) if copy else _Interpreter(secrets.token_hex(16))
        self._lost = False
        """Whether an interpreter of it is gone, and no result has told so."""
        self._closed = False
        self._alone = base.OneAtATime(threading.Lock())

    def run(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """Run `code`; see `Session.run`."""
        given = inputs.check(files)
        with self._one_at_a_time():
            try:
                return self._told(self._box._thread.run(self._run(self._mine, code, timeout_s, stdin, given)))
            except BaseException:
                self._abandon()
                raise

    async def arun(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """As `run`. Cancelling ends the interpreter; the next run finds a fresh one."""
        given = inputs.check(files)
        with self._one_at_a_time():
            try:
                return self._told(await self._box._thread.arun(self._run(self._mine, code, timeout_s, stdin, given)))
            except BaseException:
                self._abandon()
                raise

    def fork(self) -> "RemoteSession":
        """A copy of the interpreter as it is now; see `Session.fork`.

        Raises:
            ForkError: it cannot be copied.
            SandboxError: the server failed.
        """
        with self._one_at_a_time():
            return self._box._thread.run(self._fork(self._mine))

    async def afork(self) -> "RemoteSession":
        """As `fork`."""
        with self._one_at_a_time():
            return await self._box._thread.arun(self._fork(self._mine))

    def close(self) -> None:
        """End the interpreter."""
        if self._ends():
            self._box._thread.run(self._box._end(self._mine))

    async def aclose(self) -> None:
        """As `close`."""
        if self._ends():
            await self._box._thread.arun(self._box._end(self._mine))

    async def _run(
        self, mine: _Interpreter, code: str, timeout_s: float | None, stdin: str, files: dict[str, bytes]
    ) -> Result:
        refused = self._box._refused(code, stdin)
        if refused:
            return refused
        path = f"/v1/sessions/{mine.key}"
        if not mine.begun:
            body = {"seed": self._seed, "memory_limit_MB": self._box._memory_mb}
            await self._box._send("PUT", path, body, _CONTROL_S)
            mine.begun = True
        mine.number += 1
        body = self._box._body(code, timeout_s, stdin, files) | {"number": mine.number}
        return await self._box._result(f"{path}/run", body)

    def _told(self, result: Result) -> Result:
        lost, self._lost = self._lost, False
        return replace(result, state_lost=True) if lost else result

    def _abandon(self) -> None:
        """A run had no answer, and nobody knows what it did: end its interpreter, the next run finds a fresh one."""
        mine, self._mine = self._mine, _Interpreter(secrets.token_hex(16))
        self._lost = self._lost or mine.number > 0
        self._box._end_some_time(mine)

    async def _fork(self, mine: _Interpreter) -> "RemoteSession":
        if not mine.begun:
            return RemoteSession(self._box, self._seed)
        copy = secrets.token_hex(16)
        path = f"/v1/sessions/{mine.key}/fork"
        response = await self._box._send("POST", path, {"copy": copy}, _CONTROL_S, allowed=(200, 409))
        if response.status_code == 409:
            answer = _json(response)
            detail = answer.get("detail") if isinstance(answer, dict) else None
            if isinstance(detail, dict) and "fork" in detail:
                raise ForkError(str(detail["fork"]))
            raise SandboxError(f"{self._box.url}{path} refused: {detail}")
        return RemoteSession(self._box, self._seed, copy)

    def _ends(self) -> bool:
        """Mark it as closed; whether the server has to be told."""
        was, self._closed, self._alone.closed = self._closed, True, True
        return not was and self._mine.begun and self._box._thread.usable

    def _one_at_a_time(self) -> base.OneAtATime:
        if self._closed:
            raise SandboxError("this session is closed")
        return self._alone


def describe(result: Result, *, files: bool = False) -> Answer:
    """What a server of ours adds to SandboxFusion's account of a run; `parse` reads it.

    Args:
        result: of the run.
        files: whether its files are wanted.
    """
    names = ("status", "value", "error", "truncated", "state_lost", "exit_code")
    return {name: getattr(result, name) for name in names} | ({"files": _encoded(result.files)} if files else {})


def parse(answer: Answer, *, output_chars: int, seconds: float, timeout_s: float) -> Result:
    """The result that an answer to /run_code tells of.

    Raises:
        KeyError, TypeError, ValueError: it is no such answer.
    """
    ran = answer["run_result"]
    out, err = _text(ran.get("stdout")), _text(ran.get("stderr"))
    own = answer.get("toolenvs")
    status: Status
    value: str | None = None
    files: dict[str, bytes] = {}
    if own is not None:
        status = own["status"]
        if status not in get_args(Status):
            raise ValueError(status)
        value, error, truncated, lost = own["value"], own["error"], bool(own["truncated"]), bool(own["state_lost"])
        exit_code, files = own.get("exit_code"), _decoded(own.get("files", {}))
    else:
        status, error = _read(ran, err, timeout_s)
        truncated = lost = False
        exit_code = ran["return_code"] if status == "crashed" else None
    if not isinstance(exit_code, int | None):
        raise TypeError(exit_code)
    truncated = truncated or max(len(out), len(err), len(value or "")) > output_chars
    value = value if value is None else value[:output_chars]
    texts = out[:output_chars], err[:output_chars], value, error
    return Result(status, *texts, truncated, seconds, lost, files, exit_code)


def _read(ran: Answer, err: str, timeout_s: float) -> tuple[Status, str | None]:
    """Status and error of a process, as far as its end and its standard error show them."""
    if ran["status"] == "TimeLimitExceeded":
        return "timeout", f"TimeoutError: the program ran longer than {timeout_s:g} s"
    if ran["status"] != "Finished":
        raise ValueError(ran["status"])
    code = ran["return_code"]
    if code == 0:
        return "ok", None
    if not isinstance(code, int):
        raise ValueError(code)
    if code < 0:
        return "crashed", f"the interpreter was ended by signal {-code}"
    last = err.rstrip("\n").rpartition("\n")[2]
    raised = code == 1 and ("Traceback (most recent call last):" in err or last.startswith(("SyntaxError", "Indent")))
    if not raised:
        return "error" if code == 1 else "crashed", f"the interpreter exited with code {code}"
    return ("memory" if last.partition(":")[0] == "MemoryError" else "error"), last


def _encoded(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(content).decode() for name, content in files.items()}


def _decoded(files: dict[str, str]) -> dict[str, bytes]:
    """The inverse of `_encoded`, within the bounds of `Result.files`.

    Raises:
        AttributeError, TypeError, ValueError: they are none.
    """
    decoded = {name: base64.b64decode(content, validate=True) for name, content in files.items()}
    return outputs.unpack(outputs.pack(decoded))


def _failure(response: Any) -> str | None:
    """Why the server's sandbox failed, if it says so."""
    answer = _json(response)
    if isinstance(answer, dict) and answer.get("status") == "SandboxError":
        return str(answer.get("message") or "SandboxError")[:500]
    return None


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return {"detail": response.text[:300]}


def _detail(answer: Any) -> str:
    detail = answer.get("detail", answer) if isinstance(answer, dict) else answer
    if isinstance(detail, list):
        detail = "; ".join(
            f"{'.'.join(map(str, problem.get('loc', ())))}: {problem.get('msg', '')}"
            if isinstance(problem, dict)
            else str(problem)
            for problem in detail
        )
    return str(detail)[:500]


def _text(value: Any) -> str:
    if not isinstance(value, str | None):
        raise TypeError(value)
    return value or ""
