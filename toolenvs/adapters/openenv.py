"""OpenEnv: our environments behind its interface, and its environments as Gymnasium's.

OpenEnv's clients keep a WebSocket (`/ws`) for each episode and send it messages `reset`, `step`, `state` and `close`.
`application` answers them for a page, so that any client of OpenEnv, typed or generic, acts in it:

    toolenvs serve openenv ReTool-v0 --port 8000

    async with GenericEnvClient(base_url="http://127.0.0.1:8000") as env:      # of OpenEnv
        result = await env.reset(seed=0)
        result = await env.step({"message": "<code>print(6 * 7)</code>"})

`Remote` is the other direction: an environment that somebody serves by OpenEnv's interface, as a `gymnasium.Env`, and
so as what the tool `gym` acts upon. Neither needs the package openenv; the tests hold both against it.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import gymnasium
from gymnasium.error import InvalidAction

import toolenvs
from toolenvs.env import ToolEnv
from toolenvs.errors import ConfigError, InfrastructureError, MissingExtraError, ToolenvsError
from toolenvs.page import Page
from toolenvs.spaces import Unicode

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

    from toolenvs.serve import metrics
    from toolenvs.serve.http import Guard, Refused, answer, json_body, log, parse_json, text_of
except ModuleNotFoundError as error:
    raise MissingExtraError(str(error.name), "serve", "OpenEnv's interface") from error

MAX_MESSAGE_BYTES = 16 << 20
"""Of one message, and of one request."""
_BODY_S = 30.0
_MAX_SEED = 2**63
_RESET_OPTIONS = ("task", "prefix", "progress")
_STATE = {"episode_id": {"type": ["string", "null"]}, "step_count": {"type": "integer", "minimum": 0}}
_MODEL_ERRORS = ("VALIDATION_ERROR", "INVALID_JSON")
"""Codes of errors that the action is to blame for."""
_TEXT, _OPTIONAL = {"type": "string"}, {"type": ["string", "null"]}
_OBSERVATION: dict[str, Any] = {
    "text": {**_TEXT, "description": "What the policy reads next: the prompt, then feedback; empty at the end."},
    "stop": {"type": "array", "items": _TEXT, "description": "Stop strings of the next generation; they are kept."},
    "messages": {"type": "array", "items": {"type": "object"}, "description": "The conversation so far, as chat."},
    "reward_terms": {"type": "object", "description": "Named parts of the reward."},
    "ending": {**_OPTIONAL, "description": "Why the episode ended."},
    "truncated": {"type": "boolean", "description": "Whether a budget or a fault ended it, and not the task itself."},
    "success": {"type": ["number", "boolean", "null"], "description": "Raw correctness, before any shaping."},
    "task": {**_TEXT, "description": "Id of the task."},
    "fault": {**_OPTIONAL, "description": "What failed, where infrastructure ended it."},
}
_ACTION = {"message": {**_TEXT, "description": "What the policy wrote in this turn, its stop string included."}}


class _Failed(Exception):
    """A message that is answered by an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.data = {"message": message, "code": code}


class _Episode:
    """What one client acts in.

    Args:
        env: of its own.
    """

    def __init__(self, env: ToolEnv) -> None:
        self._env = env
        self._id: str | None = None
        self._steps = 0

    async def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode. What the environment does not know is left aside, as OpenEnv's servers do."""
        seed, name = data.get("seed"), data.get("episode_id")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < _MAX_SEED):
            raise _Failed("VALIDATION_ERROR", f"seed must be a whole number from 0 on, not {seed!r:.40}")
        if name is not None and not isinstance(name, str):
            raise _Failed("VALIDATION_ERROR", f"episode_id must be a string, not {name!r:.40}")
        options = {key: data[key] for key in _RESET_OPTIONS if data.get(key) is not None}
        self._env.reseed(seed)
        text, info = await _told(self._env.areset(options=options))
        self._id, self._steps = name, 0
        return _observed(text, None, False, False, info)

    async def step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Take a turn of the policy."""
        message = data.get("message")
        if not isinstance(message, str) or set(data) - {"message", "metadata"}:
            raise _Failed("VALIDATION_ERROR", 'an action is an object with the string "message"')
        if self._env.episode is None:
            raise _Failed("VALIDATION_ERROR", "there is no episode: send reset before step")
        text, reward, terminated, truncated, info = await _told(self._env.astep(message))
        self._steps += 1
        return _observed(text, reward, terminated or truncated, truncated, info)

    @property
    def state(self) -> dict[str, Any]:
        """Where the episode stands."""
        episode = self._env.episode
        told = {"page": self._env.blueprint.page.id, "task": None if episode is None else episode.task.id}
        return {"episode_id": self._id, "step_count": self._steps, **told}

    async def close(self) -> None:
        """End it."""
        if self._env.episode is not None:
            await self._env.episode.close()


async def _told(work: Any) -> Any:
    """What a coroutine gives; an error of the package's own tree becomes one of OpenEnv's."""
    try:
        return await work
    except InfrastructureError as error:
        raise _Failed("EXECUTION_ERROR", str(error)) from error
    except ToolenvsError as error:
        raise _Failed("VALIDATION_ERROR", str(error)) from error


def _observed(text: str, reward: float | None, done: bool, truncated: bool, info: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenEnv's messages hold. An episode that infrastructure ended has no reward."""
    told = {"text": text, "truncated": truncated, "stop": list(info["stop"])}
    told |= {name: info[name] for name in _OBSERVATION if name not in told}
    return {"observation": told, "reward": None if info["ending"] == "infrastructure" else reward, "done": done}


def application(
    page: str | Page, *, max_sessions: int = 256, tokenizer: Any = None, tasks: Any = None, **overrides: Any
) -> Starlette:
    """An ASGI application that speaks OpenEnv's interface for a page.

    Episodes live on WebSockets, one each, until they are closed. As with OpenEnv's own servers, `POST /reset` and `POST
    /step` know no sessions: the first shows how an episode begins, and the second plays an episode of one turn, with
    the `seed` of its body. `GET /health`, `/metadata`, `/schema` and `/state` tell what they tell there.

    Args:
        page: as of `toolenvs.blueprint.load`.
        max_sessions: episodes at one time; a client past it is told that the server is full.
        tokenizer: as of `Blueprint`.
        tasks: as of `toolenvs.blueprint.load`.
        overrides: keys of the page.

    Raises:
        PageError: no such page, or a key or value is wrong.
        ConfigError: max_sessions is less than 1.
    """
    if max_sessions < 1:
        raise ConfigError(f"max_sessions = {max_sessions}: at least one episode is needed")
    env = ToolEnv(page, tokenizer=tokenizer, tasks=tasks, **overrides)
    return _Server(env, max_sessions).application()


class _Server:
    def __init__(self, env: ToolEnv, most: int) -> None:
        self._env, self._most, self._open = env, most, 0
        self._guard = Guard(metrics.Counter("toolenvs_openenv_requests_total", "Requests by path and status code."))

    def application(self) -> Starlette:
        guard = self._guard
        page = self._env.blueprint.page
        version = {"version": toolenvs.__version__, "readme_content": page.paper.note or None, "author": None}
        told: dict[str, dict[str, Any]] = {
            "/health": {"status": "healthy"},
            "/metadata": {"name": page.id, "description": page.summary, "documentation_url": page.paper.url, **version},
            "/schema": {
                "action": _schema("ToolenvsAction", _ACTION, ["message"]),
                "observation": _schema("ToolenvsObservation", _OBSERVATION, list(_OBSERVATION)),
                "state": _schema("ToolenvsState", {**_STATE, "page": _TEXT, "task": _OPTIONAL}, []),
            },
            "/state": _Episode(self._env.twin()).state,
        }
        routes = [Route(path, guard(path, _constant(body)), methods=["GET"]) for path, body in told.items()]
        routes += [
            Route(f"/{name}", guard(f"/{name}", self._alone(name)), methods=["POST"]) for name in ("reset", "step")
        ]
        return Starlette(routes=[*routes, WebSocketRoute("/ws", self._session)], lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await self._env.blueprint.close()

    def _alone(self, name: str) -> Any:
        """`reset` or `step` without a session."""

        async def handle(request: Request) -> Response:
            asked = await json_body(request, max_bytes=MAX_MESSAGE_BYTES, limit_s=_BODY_S)
            if not isinstance(asked, dict) or (name == "step" and not isinstance(asked.get("action"), dict)):
                raise Refused(422, 'the body must be an object, for step with an object "action"')
            with self._place():
                episode = _Episode(self._env.twin())
                try:
                    told = await episode.reset(asked)
                    return answer(await episode.step(asked["action"]) if name == "step" else told)
                except _Failed as failed:
                    raise Refused(500 if failed.data["code"] == "EXECUTION_ERROR" else 422, str(failed)) from None
                finally:
                    await episode.close()

        return handle

    @contextlib.contextmanager
    def _place(self) -> Any:
        if self._open >= self._most:
            raise Refused(503, f"Server at capacity: {self._open}/{self._most} sessions active")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _session(self, socket: WebSocket) -> None:
        if "origin" in socket.headers:  # browsers name it, and would let any web page in
            await socket.send_denial_response(Refused(403, "a WebSocket is not opened for web pages here").answer())
            return
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it is gone
            try:
                with self._place():
                    await self._converse(socket, _Episode(self._env.twin()))
            except Refused as refused:
                told: dict[str, Any] = {"message": str(refused.detail), "code": "CAPACITY_REACHED"}
                told |= {"active_sessions": self._open, "max_sessions": self._most}
                await socket.send_text(text_of({"type": "error", "data": told}))
            await socket.close()

    async def _converse(self, socket: WebSocket, episode: _Episode) -> None:
        try:
            while True:
                told = await self._reply(await _received(socket), episode)
                if told is None:
                    return
                await socket.send_text(text_of(told))
        finally:
            await episode.close()

    async def _reply(self, received: str, episode: _Episode) -> dict[str, Any] | None:
        """What a message is answered with; None for one that says goodbye."""
        try:
            message = _object(received)
            kind, data = message.get("type"), message.get("data", {})
            if kind == "close":
                return None
            if kind == "state":
                return {"type": "state", "data": episode.state}
            if kind not in ("reset", "step"):
                raise _Failed("UNKNOWN_TYPE", f"there is no message of type {kind!r:.40}: reset, step, state or close")
            if not isinstance(data, dict):
                raise _Failed("VALIDATION_ERROR", f"the data of {kind} must be an object")
            return {
                "type": "observation",
                "data": await (episode.reset(data) if kind == "reset" else episode.step(data)),
            }
        except _Failed as failed:
            return {"type": "error", "data": failed.data}
        except Exception as error:
            log.exception("an episode of OpenEnv failed")
            fault = f"a fault of the server: {type(error).__name__}"
            return {"type": "error", "data": {"message": fault, "code": "EXECUTION_ERROR"}}


async def _received(socket: WebSocket) -> str:
    try:
        return await socket.receive_text()
    except KeyError:  # bytes
        return ""


def _object(received: str) -> dict[str, Any]:
    try:
        message = parse_json(received.encode())
    except (Refused, UnicodeEncodeError) as error:
        raise _Failed("INVALID_JSON", f"Invalid JSON: {getattr(error, 'detail', error)}") from None
    if not isinstance(message, dict):
        raise _Failed("VALIDATION_ERROR", 'a message is an object with "type" and "data"')
    return message


def _constant(body: Mapping[str, Any]) -> Any:
    async def handle(request: Request) -> Response:
        return answer(body)

    return handle


def _schema(title: str, properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": dict(properties), "required": required}


class Remote(gymnasium.Env[str, str]):
    """An environment that somebody serves by OpenEnv's interface.

    An action is text: the value of the action's one field, or the action as a JSON object. The observation is text: the
    value of one of its fields, or all of them, a line each. `info` holds the observation's fields, so that one of them
    can be the tool's `success`. OpenEnv does not tell an end that a limit imposed from others: every end is
    `terminated`.

    In a page, which may wait for it on a thread:

        [tools.gym]
        env = "toolenvs.adapters.openenv:Remote"
        kwargs = { url = "http://127.0.0.1:8000", action = "message", observation = "text" }
        threaded = true

    Args:
        url: of the server, http or https.
        action: the field of an action that the text becomes; "" where the text is the action as JSON.
        observation: the field that is shown; "" for all.
        reset: what is sent with a reset besides the seed.
        timeout_s: how long an answer may take.
        max_chars: of an observation; what is longer is cut.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: the address is none of http.
        MissingExtraError: the package websockets is not installed.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(
        self,
        url: str,
        *,
        action: str = "",
        observation: str = "",
        reset: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        max_chars: int = 65_536,
        render_mode: str | None = None,
    ) -> None:
        try:
            from websockets.exceptions import WebSocketException
            from websockets.sync.client import connect
        except ImportError as error:
            raise MissingExtraError("websockets", "serve", "an environment of OpenEnv") from error
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError(f"url {url!r} is no address of a server: give http://host:port")
        self._address = parts._replace(scheme={"http": "ws", "https": "wss"}[parts.scheme]).geturl().rstrip("/") + "/ws"
        self._connect, self._broken = connect, WebSocketException
        self._socket: ClientConnection | None = None
        self._open = contextlib.ExitStack()
        self._field, self._shown, self._reset = action, observation, dict(reset or {})
        self._timeout_s, self._max_chars = timeout_s, max_chars
        self.render_mode = render_mode
        self._text = ""
        self.observation_space = Unicode(max_chars)
        self.action_space = Unicode(MAX_MESSAGE_BYTES)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: sent along; whether the environment heeds it is its own matter.
            options: sent along too, over those of the constructor.

        Raises:
            InfrastructureError: the server cannot be reached, is full, or failed.
        """
        super().reset(seed=seed)
        sent = {**self._reset, **(options or {}), **({} if seed is None else {"seed": seed})}
        told = self._ask("reset", sent)
        return self._observed(told)[0], self._info(told)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Act.

        Raises:
            InvalidAction: the text is no action of the environment.
            InfrastructureError: the server cannot be reached, or failed.
        """
        told = self._ask("step", self._action(action))
        text, reward, done = self._observed(told)
        return text, reward, done, False, self._info(told)

    def _action(self, text: str) -> dict[str, Any]:
        if self._field:
            return {self._field: text}
        try:
            action = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidAction(f"an action is a JSON object, and this is none: {error}") from None
        if not isinstance(action, dict):
            raise InvalidAction(f"an action is a JSON object, not {text:.40}")
        return action

    def _ask(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            message = json.loads(self._exchange(json.dumps({"type": kind, "data": data})))
            told = message["data"]
            if not isinstance(told, dict):
                raise TypeError(f"data is {told!r:.80}")
        except (OSError, ValueError, TypeError, KeyError, RecursionError, self._broken) as error:
            self.close()
            raise InfrastructureError(f"{self._address}: {kind} failed: {type(error).__name__}: {error}") from error
        if message.get("type") == "error":
            what = f"{told.get('message')} {told.get('errors', '')}".strip()
            if kind == "step" and told.get("code") in _MODEL_ERRORS:
                raise InvalidAction(f"the environment does not take this action: {what:.500}")
            self.close()
            raise InfrastructureError(f"{self._address}: {kind}: {what} ({told.get('code')})")
        return told

    def _exchange(self, message: str) -> str | bytes:
        if self._socket is None:
            opening = self._connect(self._address, open_timeout=self._timeout_s, max_size=MAX_MESSAGE_BYTES, proxy=None)
            self._socket = self._open.enter_context(opening)
        self._socket.send(message)
        return self._socket.recv(timeout=self._timeout_s)

    def _observed(self, told: Mapping[str, Any]) -> tuple[str, float, bool]:
        observation, reward = told.get("observation", {}), told.get("reward")
        if isinstance(observation, dict):
            observation = {name: value for name, value in observation.items() if name != "metadata"}
        shown = observation.get(self._shown) if self._shown and isinstance(observation, dict) else observation
        lines = shown if isinstance(shown, dict) else {"": shown}
        text = "\n".join(f"{name}: {_plain(value)}" if name else _plain(value) for name, value in lines.items())
        self._text = text[: self._max_chars]
        return self._text, float(reward or 0.0), bool(told.get("done"))

    def _info(self, told: Mapping[str, Any]) -> dict[str, Any]:
        observation = told.get("observation")
        fields = dict(observation) if isinstance(observation, dict) else {}
        for metadata in (fields.pop("metadata", None), told.get("metadata")):  # where it stands depends on the version
            fields |= metadata if isinstance(metadata, dict) else {}
        return fields

    def render(self) -> str | None:
        """The last observation, where the mode is "ansi"."""
        return self._text if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Say goodbye to the server. Closing twice is allowed."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(OSError, self._broken):
                socket.send(json.dumps({"type": "close"}))
            with contextlib.suppress(OSError, self._broken):
                self._open.close()


def _plain(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
