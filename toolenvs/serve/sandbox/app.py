"""The endpoints of the sandbox server, as a Starlette application."""

import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import toolenvs
from toolenvs.errors import ForkError, SandboxError
from toolenvs.sandbox import Result, Session
from toolenvs.sandbox.outputs import is_plain
from toolenvs.serve import metrics
from toolenvs.serve.admission import Admission
from toolenvs.serve.fields import Fields
from toolenvs.serve.http import Guard, Refused, answer, client_of, json_body, otherwise, show, unless_gone
from toolenvs.serve.sandbox import shapes
from toolenvs.serve.sandbox.boxes import Boxes
from toolenvs.serve.sandbox.files import WithFiles, refusing
from toolenvs.serve.sandbox.settings import Settings
from toolenvs.serve.sessions import Sessions

_PREFIX = "toolenvs_sandbox"
_JUPYTER_TOTAL_S = 45.0
"""SandboxFusion's default for all cells of a request."""


def build(settings: Settings) -> Starlette:
    """The application. Its sandboxes are open from now on, and closed when it shuts down.

    Raises:
        ConfigError: a setting is wrong.
        SandboxError: the backend does not work here.
    """
    return _Server(settings).application()


class _Server:
    """What the endpoints share."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._boxes = Boxes(settings)
        self._sessions: Sessions[Session] = Sessions(most=settings.max_sessions, idle_s=settings.session_idle_s)
        self._admission = Admission(
            max_running=settings.max_running,
            max_queued=settings.max_queued,
            per_client=settings.max_per_client,
            queue_s=settings.queue_s,
        )
        self._requests = metrics.Counter(f"{_PREFIX}_requests_total", "Requests by path and status code.")
        self._runs = metrics.Counter(f"{_PREFIX}_runs_total", "Programs that ran, by how they ended.")
        self._run_s = metrics.Histogram(f"{_PREFIX}_run_seconds", "Wall time of programs.")
        self._queue_s = metrics.Histogram(f"{_PREFIX}_queue_seconds", "Wait of programs for a place.")
        self._metrics: list[metrics.Metric] = [
            self._requests,
            self._runs,
            self._run_s,
            self._queue_s,
            metrics.Gauge(f"{_PREFIX}_running", "Programs that run now.", lambda: self._admission.running),
            metrics.Gauge(f"{_PREFIX}_queued", "Programs that wait now.", lambda: self._admission.queued),
            metrics.Gauge(f"{_PREFIX}_sessions", "Sessions that live now.", lambda: len(self._sessions)),
        ]

    def application(self) -> Starlette:
        guard = Guard(self._requests, self._settings.token)
        session = "/v1/sessions/{id}"
        routes = [
            Route("/run_code", guard("/run_code", self.run_code), methods=["POST"]),
            Route("/run_jupyter", guard("/run_jupyter", self.run_jupyter), methods=["POST"]),
            Route(session, guard(session, self.create), methods=["PUT"]),
            Route(session, guard(session, self.end), methods=["DELETE"]),
            Route(f"{session}/run", guard(f"{session}/run", self.run_in_session), methods=["POST"]),
            Route(f"{session}/fork", guard(f"{session}/fork", self.fork), methods=["POST"]),
            Route("/health", guard("/health", self.health, open_to_all=True), methods=["GET"]),
            Route("/v1/ping", guard("/v1/ping", self.ping, open_to_all=True), methods=["GET"]),
            Route("/metrics", guard("/metrics", show(self._metrics)), methods=["GET"]),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=otherwise(self._requests))

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._sessions.aclose()
            await self._boxes.aclose()

    async def run_code(self, request: Request) -> Response:
        """A program in a fresh interpreter."""
        fields = await self._fields(request)
        code, stdin, timeout_s = self._program(fields)
        fields.choice("language", ("python",))
        memory_mb = self._memory_mb(fields)
        files, fetched = fields.files("files"), fields.texts("fetch_files", [])
        seed, outputs = fields.whole("seed"), fields.flag("outputs")
        fields.check()
        self._check_sizes(code, stdin)

        async def work() -> Response:
            async with self._admission.place(client_of(request)) as place:
                self._queue_s.observe(place.waited_s)
                box = await self._boxes.of(memory_mb)
                if fetched or not all(map(is_plain, files)):
                    async with WithFiles(box, files, fetched, seed=seed) as run:
                        result = self._count(await run(code, timeout_s=timeout_s, stdin=stdin))
                        return answer(shapes.run_code(result, await run.fetch(), outputs=outputs))
                with refusing():
                    running = box.arun(code, timeout_s=timeout_s, stdin=stdin, seed=seed, files=files)
                    result = self._count(await running)
                return answer(shapes.run_code(result, {}, outputs=outputs))

        try:
            return await unless_gone(request, work())
        except SandboxError as error:
            return answer(shapes.failure(str(error)))

    async def run_jupyter(self, request: Request) -> Response:
        """Cells, one after the other, in one interpreter."""
        settings = self._settings
        fields = await self._fields(request)
        cells = fields.texts("cells")
        cell_s = fields.number("cell_timeout", 0.0, above=-1e-9, most=settings.max_timeout_s)
        total_s = fields.number("total_timeout", _JUPYTER_TOTAL_S, above=0.0, most=settings.max_timeout_s)
        fields.choice("kernel", ("python3",), "python3")
        memory_mb = self._memory_mb(fields)
        files, fetched = fields.files("files"), fields.texts("fetch_files", [])
        fields.check()
        if len(cells) > settings.max_cells:
            raise Refused(413, f"{len(cells)} cells are more than the {settings.max_cells} that this server takes")
        for cell in cells:
            self._check_sizes(cell, "")

        async def work() -> Response:
            async with self._admission.place(client_of(request)) as place:
                self._queue_s.observe(place.waited_s)
                box = await self._boxes.of(memory_mb)
                async with WithFiles(box, files, fetched) as run:
                    results = await self._cells(run, cells, cell_s, total_s)
                    fetched_files = await run.fetch()
                return answer(_jupyter(results, fetched_files))

        try:
            return await unless_gone(request, work())
        except SandboxError as error:
            return answer({**_jupyter([], {}), "status": "SandboxError", "message": str(error), "driver": None})

    async def create(self, request: Request) -> Response:
        """A session with the id of the path."""
        fields = await self._fields(request)
        memory_mb = self._memory_mb(fields)
        seed = fields.whole("seed")
        fields.check()

        async def make() -> Session:
            return await (await self._boxes.of(memory_mb)).asession(seed=seed)

        await self._sessions.create(request.path_params["id"], make)
        return answer({"session": request.path_params["id"]})

    async def run_in_session(self, request: Request) -> Response:
        """A program in a session; the answer has the shape of /run_code's."""
        fields = await self._fields(request)
        code, stdin, timeout_s = self._program(fields)
        number = fields.whole("number", -1)
        files, outputs = fields.files("files"), fields.flag("outputs")
        fields.check()
        if number is None or number < 1:
            raise Refused(422, "'number' must count the runs of the session from 1")
        self._check_sizes(code, stdin)
        client = client_of(request)

        async def work(session: Session) -> dict[str, Any]:
            async with self._admission.place(client) as place:
                self._queue_s.observe(place.waited_s)
                try:
                    with refusing():
                        result = self._count(await session.arun(code, timeout_s=timeout_s, stdin=stdin, files=files))
                except SandboxError as error:
                    return shapes.failure(str(error))
                return shapes.run_code(result, {}, outputs=outputs)

        return answer(await self._sessions.run(request.path_params["id"], number, work))

    async def fork(self, request: Request) -> Response:
        """A copy of a session, with an id that the client chose."""
        fields = await self._fields(request)
        copy = fields.text("copy")
        fields.check()
        try:
            await self._sessions.fork(request.path_params["id"], copy, lambda session: session.afork())
        except ForkError as error:
            raise Refused(409, {"fork": str(error)}) from None
        return answer({"session": copy})

    async def end(self, request: Request) -> Response:
        """End a session and what runs in it."""
        await self._sessions.end(request.path_params["id"])
        return Response(status_code=204)

    async def health(self, _: Request) -> Response:
        """What this server is and allows."""
        settings = self._settings
        names = ("max_timeout_s", "memory_mb", "max_memory_mb", "output_chars", "max_code_chars", "max_sessions")
        return answer(
            {
                "status": "ok",
                "server": "toolenvs",
                "version": toolenvs.__version__,
                "backend": settings.backend,
                "isolation": self._boxes.isolation,
                "languages": ["python"],
                "sessions": True,
                "limits": {name: getattr(settings, name) for name in names},
            }
        )

    async def ping(self, _: Request) -> Response:
        """As SandboxFusion answers it."""
        return answer("pong")

    async def _cells(self, run: WithFiles, cells: list[str], cell_s: float, total_s: float) -> list[Result]:
        """Results up to the first cell that ran out of time or ended its interpreter."""
        results: list[Result] = []
        end_s = time.monotonic() + total_s
        for cell in cells:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                results.append(Result("timeout", error=f"TimeoutError: the cells ran longer than {total_s:g} s"))
                break
            result = self._count(await run(cell, timeout_s=min(left_s, cell_s) if cell_s > 0 else left_s))
            results.append(result)
            if result.status not in ("ok", "error", "memory"):
                break
        return results

    async def _fields(self, request: Request) -> Fields:
        settings = self._settings
        return Fields(await json_body(request, max_bytes=settings.max_body_bytes, limit_s=settings.body_s))

    def _program(self, fields: Fields) -> tuple[str, str, float]:
        most_s = self._settings.max_timeout_s
        hint = " (start the server with a larger --max-timeout-s)"
        timeout_s = fields.number("run_timeout", self._settings.timeout_s, above=0.0, most=most_s, hint=hint)
        return fields.text("code"), fields.text("stdin", None), timeout_s

    def _memory_mb(self, fields: Fields) -> float:
        most_mb = self._settings.max_memory_mb
        hint = " (start the server with a larger --max-memory-mb)"
        return fields.number("memory_limit_MB", -1.0, above=-2.0, most=most_mb, hint=hint)

    def _check_sizes(self, code: str, stdin: str) -> None:
        most = self._settings.max_code_chars
        for name, text in (("program", code), ("standard input", stdin)):
            if len(text) > most:
                raise Refused(413, f"the {name} is longer than the {most} characters that this server takes")

    def _count(self, result: Result) -> Result:
        self._runs.add(status=result.status)
        self._run_s.observe(result.seconds)
        return result


def _jupyter(results: list[Result], files: dict[str, str]) -> dict[str, Any]:
    """Cells may raise and the notebook still succeeds; it fails where one ran out of time or ended its interpreter."""
    last = results[-1] if results else Result("ok")
    finished = last.status in ("ok", "error", "memory")
    driver = Result("ok" if finished else last.status, error=last.error, seconds=sum(each.seconds for each in results))
    return {
        "status": "Success" if finished else "Failed",
        "message": "",
        "driver": shapes.command(driver),
        "cells": [shapes.cell(result) for result in results],
        "executor_pod_name": None,
        "files": files,
    }


def _client(request: Request) -> str:
    return request.client.host if request.client else "an unnamed client"
