"""What a client may ask for, whichever way it asks."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolenvs import render
from toolenvs.codec import TokenCodec
from toolenvs.errors import InfrastructureError, ToolenvsError
from toolenvs.remote import wire
from toolenvs.serve import metrics
from toolenvs.serve.admission import Admission
from toolenvs.serve.env.envs import Env, Envs
from toolenvs.serve.env.episode import EpisodeSession, failure
from toolenvs.serve.env.settings import Settings
from toolenvs.serve.fields import Fields
from toolenvs.serve.http import Refused, log
from toolenvs.serve.sessions import Sessions

PREFIX = "toolenvs_env"
MAX_TASKS = 256
"""Of one request."""
_MAX_HEARTBEATS = 100_000
_MAX_SEED = 1 << 127


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    client: str
    """Address that it came from."""
    body: object
    session: str = ""
    """Id of the session that it is about."""


class Operations:
    """All of them, over the same sessions.

    Args:
        settings: the limits.
        codec: the tokenizer of every environment, if any.

    Raises:
        PageError: a page of the settings is not there.
    """

    def __init__(self, settings: Settings, codec: TokenCodec | None = None) -> None:
        self._settings = settings
        self.envs = Envs(settings.pages, settings.allow, codec=codec, most=settings.max_envs)
        self.sessions: Sessions[EpisodeSession] = Sessions(
            most=settings.max_sessions, idle_s=settings.lease_s, per_client=settings.max_sessions_per_client
        )
        self._admission = Admission(
            max_running=settings.max_running,
            max_queued=settings.max_queued,
            per_client=settings.max_per_client,
            queue_s=settings.queue_s,
        )
        self._turns = metrics.Counter(f"{PREFIX}_turns_total", "Turns that were taken, by the ending they led to.")
        self._turn_s = metrics.Histogram(f"{PREFIX}_turn_seconds", "Wall time of turns.")
        self._queue_s = metrics.Histogram(
            f"{PREFIX}_queue_seconds", "Wait of turns, beginnings and copies for a place."
        )
        self.metrics: list[metrics.Metric] = [
            self._turns,
            self._turn_s,
            self._queue_s,
            metrics.Gauge(f"{PREFIX}_running", "Turns that are worked on now.", lambda: self._admission.running),
            metrics.Gauge(f"{PREFIX}_queued", "Turns that wait now.", lambda: self._admission.queued),
            metrics.Gauge(f"{PREFIX}_sessions", "Episodes that live now.", lambda: len(self.sessions)),
            metrics.Gauge(f"{PREFIX}_sessions_expired", "Episodes that nobody used.", lambda: self.sessions.expired),
            metrics.Gauge(f"{PREFIX}_environments", "Pages with overrides that are ready.", lambda: len(self.envs)),
        ]
        self.known: dict[str, Callable[[Asked], Awaitable[wire.Json]]] = {
            "describe": self.describe,
            "tasks": self.tasks,
            "begin": self.begin,
            "step": self.step,
            "fork": self.fork,
            "render": self.render,
            "end": self.end,
            "heartbeat": self.heartbeat,
        }

    async def do(self, name: str, asked: Asked) -> wire.Json:
        """The answer to a request.

        Raises:
            Refused: it is not carried out, or (202) goes on and is to be asked for again.
        """
        try:
            async with asyncio.timeout(self._settings.hold_s) as held:
                return await self.known[name](asked)
        except TimeoutError:
            if not held.expired():
                raise
            raise Refused(202, "it goes on: ask again") from None
        except ToolenvsError as error:
            if isinstance(error, InfrastructureError):
                log.warning("%s: %s", name, error)
                raise Refused(500, failure(error)) from error
            raise Refused(422, failure(error)) from error

    async def aclose(self) -> None:
        """End every episode."""
        await self.sessions.aclose()
        await self.envs.aclose()

    async def describe(self, asked: Asked) -> wire.Json:
        """What a client has to know of an environment."""
        fields = Fields(asked.body)
        env = await self._env(fields)
        page, codec = env.blueprint.page, self.envs.codec
        return {
            "page": wire.page_to_json(page),
            "tasks": {"name": env.blueprint.tasks.name, "count": len(env.blueprint.tasks)},
            "tokenizer": None if codec is None else codec.fingerprint,
            "lease_s": self._settings.lease_s,
        }

    async def tasks(self, asked: Asked) -> wire.Json:
        """Some tasks of an environment, by their place or by an id."""
        fields = Fields(asked.body)
        start = fields.whole("start", 0, least=0) or 0
        count = fields.whole("count", MAX_TASKS, least=1, most=MAX_TASKS) or 1
        wanted = fields.text("id", "")
        env = await self._env(fields)
        if wanted:
            found = [env.blueprint.task(wanted)]
        else:
            found = [env.blueprint.tasks[i] for i in range(start, min(start + count, len(env.blueprint.tasks)))]
        return {"tasks": [wire.task_to_json(task) for task in found]}

    async def begin(self, asked: Asked) -> wire.Json:
        """Begin an episode as the session that the client chose an id for, instead of another one where it says so."""
        fields = Fields(asked.body)
        which = _task(fields)
        seed = fields.whole("seed", 0, least=-_MAX_SEED, most=_MAX_SEED) or 0
        progress = fields.number("progress", 0.0, above=-1e-9, most=1.0)
        instead_of = fields.text("instead_of", "")
        fields.check()
        if instead_of and instead_of != asked.session:
            await self.sessions.end(instead_of)

        async def make() -> EpisodeSession:
            env = await self._env(fields)
            env.episodes += 1  # it is kept, however long the place is waited for
            try:
                async with self._place(asked):
                    return await EpisodeSession.begin(env, which, seed=seed, progress=progress)
            finally:
                env.episodes -= 1

        return (await self.sessions.create(asked.session, make, client=asked.client)).begun

    async def step(self, asked: Asked) -> wire.Json:
        """One turn; asked again with its number, the answer that it gave."""
        fields = Fields(asked.body)
        number = fields.whole("number", least=1)
        tokens = fields.whole("tokens", least=0)
        taken = {
            "action": fields.text("action"),
            "exact": fields.flag("exact"),
            "tokens": tokens,
            "cut_short": fields.flag("cut_short"),
            "given": fields.whole("given", 0, least=0) or 0,
        }
        fields.check()
        if number is None:
            raise Refused(422, "'number' must count the turns of the session from 1")

        async def work(session: EpisodeSession) -> wire.Json:
            async with self._place(asked):
                began_s = time.monotonic()
                turn, answer = await session.step(limit_s=self._settings.step_s, **taken)
                self._turn_s.observe(time.monotonic() - began_s)
                self._turns.add(ending="refused" if turn is None else turn.ending or "none")
                return answer

        answer = await self.sessions.run(asked.session, number, work)
        if "error" in answer:
            raise Refused(422, answer)
        return answer

    async def fork(self, asked: Asked) -> wire.Json:
        """A copy of an episode as it is, as the session `copy`."""
        fields = Fields(asked.body)
        copy = fields.text("copy")
        fields.check()

        async def make(session: EpisodeSession) -> EpisodeSession:
            async with self._place(asked):
                return await session.fork()

        return (await self.sessions.fork(asked.session, copy, make, client=asked.client)).begun

    async def render(self, asked: Asked) -> wire.Json:
        """The transcript with authorship shown, in colours of the terminal or as HTML."""
        fields = Fields(asked.body)
        mode = fields.choice("mode", ("ansi", "html"), "ansi")
        fields.check()
        transcript = self.sessions.get(asked.session).episode.transcript
        return {"text": render.ansi(transcript) if mode == "ansi" else render.html(transcript)}

    async def end(self, asked: Asked) -> wire.Json:
        """End a session, and what runs in it; one that is not there is ended already."""
        await self.sessions.end(asked.session)
        return {}

    async def heartbeat(self, asked: Asked) -> wire.Json:
        """Renew the leases of sessions; which of them are gone."""
        fields = Fields(asked.body)
        keys = fields.texts("sessions", most=_MAX_HEARTBEATS)
        fields.check()
        return {"gone": self.sessions.touch(keys)}

    async def _env(self, fields: Fields) -> Env:
        page, overrides = fields.text("page"), fields.table("overrides")
        fields.check()
        return await self.envs.get(page, overrides)

    @asynccontextmanager
    async def _place(self, asked: Asked) -> AsyncIterator[None]:
        async with self._admission.place(asked.client) as place:
            self._queue_s.observe(place.waited_s)
            yield


def _task(fields: Fields) -> str | int:
    """The task that is asked for, by its id or its place."""
    if fields.is_text("task"):
        return fields.text("task")
    return fields.whole("task", 0, least=0) or 0
