"""MiniWoB++ as a tool: one page of real Chromium an episode, which states a goal, is acted upon, and says when it ends.

The policy sees the page as numbered elements; what is done with them is done by Chromium's own mouse and keyboard. See
`toolenvs.web.chromium.miniwob`.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from toolenvs.errors import ConfigError, ForkError, MissingExtraError, TaskError, ToolError, WebError, did_you_mean
from toolenvs.per_process import PerProcess
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools import _actions
from toolenvs.tools.base import ToolResult
from toolenvs.web.chromium import miniwob
from toolenvs.web.chromium.engine import Engine, shared
from toolenvs.web.chromium.miniwob import MiniWob, Observation

_KEPT_PAGES = 8
"""Pages that wait for the next episode; each takes some 60 MB."""
_KEPT_S = 30.0
_MAX_TEXT = 500
"""Characters of one call: they are typed one by one."""
_MOST: dict[str, int] = {"x": 219, "y": 269, "to_x": 219, "to_y": 269}
"""Pixels that are shown: the page's own, and a margin where its menus may open."""
_MAX_PIXELS = 10_000
_NUMBER, _TEXT, _PIXELS = {"type": "integer", "minimum": 0}, {"type": "string"}, {"type": "number"}
_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "element": (_NUMBER, "click, type, select, scroll: the number of an element, the n of [n]."),
    "text": (_TEXT, "type: what the field is to hold."),
    "choices": ({"type": "array", "items": _TEXT}, "select: the options to choose; all others are not chosen then."),
    "keys": (_TEXT, "press: a key or several together, such as Enter, Tab, ArrowDown, Control+A."),
    "x": (_PIXELS, "xy, hover, drag: pixels from the left; an element's are left,top width x height behind its @."),
    "y": (_PIXELS, "xy, hover, drag: pixels from the top."),
    "to_x": (_PIXELS, "drag: where to let go."),
    "to_y": (_PIXELS, "drag: where to let go."),
    "down": (_PIXELS, "scroll: by how many pixels; less than 0 scrolls up."),
}
_ACTIONS: dict[str, tuple[str, ...]] = {
    "look": (),
    "click": ("element",),
    "type": ("element", "text"),
    "select": ("element", "choices"),
    "press": ("keys",),
    "xy": ("x", "y"),
    "hover": ("x", "y"),
    "drag": ("x", "y", "to_x", "to_y"),
    "scroll": ("element", "down"),
    "wait": (),
}
"""Name -> the arguments that it takes, all of them needed, in the order of `MiniWob.act`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.miniwob]`."""

    actions: tuple[str, ...] = tuple(_ACTIONS)
    """What the policy may do: of look, click, type, select, press, xy, hover, drag, scroll, wait."""
    pays: Literal["raw", "discounted", "success"] = "raw"
    """What the term `tool_reward` pays when the page ends: the page's own reward, -1 to 1; the same less for the time
    that its clock showed; or the success, 0 to 1."""
    step_s: float = 0.5
    """How far the page's clock goes on with each action but `look`; most pages end after 10 s of it, with -1."""
    timeout_s: float = 30.0
    """Wall-clock time that an action may take; a page that takes longer is broken."""
    description: str = (
        "Acts on a web page of 160 x 210 pixels below its goal. The page is shown as numbered elements: tag, "
        "attributes, its own text, @left,top width x height."
    )
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(0.001, step_s=self.step_s, timeout_s=self.timeout_s)
        if not self.actions:
            raise ConfigError("actions is empty: name what may be done, such as ['look', 'click']")
        for action in self.actions:
            if action not in _ACTIONS:
                raise ConfigError(f"no action {action!r}; {did_you_mean(action, _ACTIONS)}")


class Pages:
    """Pages of one process that episodes take and give back; those that wait too long are closed.

    Args:
        step_s: as in `Options`.
        timeout_s: as in `Options`.
    """

    def __init__(self, step_s: float, timeout_s: float) -> None:
        self._step_s = step_s
        self._timeout_s = timeout_s
        self._waiting: list[tuple[MiniWob, Engine, int]] = []
        self._taken = 0
        self._watched = False
        self._lock = threading.Lock()

    async def take(self) -> tuple[MiniWob, Engine]:
        """A page, and the browser that it is in.

        Raises:
            MissingExtraError: Playwright, or the package with the pages, is not installed.
            WebError: there is no browser.
        """
        while (kept := self._next()) is not None:
            page, engine, generation = kept
            if engine.usable and engine.alive_generation == generation:
                return page, engine
            await page.aclose()
        engine = shared()
        return MiniWob(step_s=self._step_s, timeout_s=self._timeout_s, engine=engine), engine

    async def give_back(self, page: MiniWob, engine: Engine) -> None:
        """Keep a page for the next episode, or close it where enough are kept."""
        with self._lock:
            keep = len(self._waiting) < _KEPT_PAGES and engine.usable and bool(engine.alive_generation)
            watch = keep and not self._watched
            if keep:
                self._waiting.append((page, engine, engine.alive_generation))
                self._watched = True
        if not keep:
            await page.aclose()
        if watch:
            try:
                engine.submit(self._watch())
            except WebError:  # the browser has ended meanwhile
                self._watched = False

    def _next(self) -> tuple[MiniWob, Engine, int] | None:
        with self._lock:
            self._taken += 1
            return self._waiting.pop() if self._waiting else None

    async def _watch(self) -> None:
        """Closes the pages that nobody takes, so that Chromium may end."""
        try:
            while self._watched:
                taken = self._taken
                await asyncio.sleep(_KEPT_S)
                if taken == self._taken:
                    while (kept := self._next()) is not None:
                        await kept[0].aclose()
                with self._lock:
                    self._watched = bool(self._waiting)
        except BaseException:  # the browser ends
            self._watched = False
            raise

    def close(self) -> None:
        """Nothing: the pages end with their browser, which ends with the process."""


_pages: PerProcess[Pages] = PerProcess()


class Tool:
    """The pages of the package `miniwob` in the Chromium of this process."""

    name: ClassVar[str] = "miniwob"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        self.parameters: Mapping[str, Any] = _actions.parameters(options.actions, _ACTIONS, _ARGUMENTS)

    def _shared_pages(self) -> Pages:
        key = (self.options.step_s, self.options.timeout_s)
        return _pages.get(key, lambda: Pages(*key))

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the package has no pages for the tasks; None where nothing speaks against it."""
        try:
            known = miniwob.tasks()
        except MissingExtraError:  # said when a page is opened
            return None
        names = tasks.get("pages", ()) if tasks.get("set") == "miniwob" else ()
        listed = names if isinstance(names, list | tuple) else ()
        wrong = [name for name in listed if isinstance(name, str) and name not in known]
        return f"MiniWoB++ has no task {wrong[0]!r}; {did_you_mean(wrong[0], known)}" if wrong else None

    async def check(self) -> None:
        """Show a page.

        Raises:
            MissingExtraError: Playwright, or the package with the pages, is not installed.
            WebError: Chromium does not work here.
        """
        pages = self._shared_pages()
        page, engine = await pages.take()
        try:
            await page.areset("click-test", 0)
        finally:
            await pages.give_back(page, engine)

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session, which opens its page with the first call.

        Raises:
            TaskError: the task names no page and seed.
        """
        return Session(self.options, self._shared_pages(), task)

    async def close(self) -> None:
        """Nothing: the process shares the pages."""


class Session:
    """One episode's page.

    Args:
        options: of the tool.
        pages: where the page is taken from.
        task: `extra["page"]` and `extra["seed"]` say which.

    Raises:
        TaskError: the task says neither.
    """

    def __init__(self, options: Options, pages: Pages, task: Task) -> None:
        self._options = options
        self._pages = pages
        self._name, self._seed = task.extra.get("page"), task.extra.get("seed")
        if not isinstance(self._name, str) or not isinstance(self._seed, int):
            raise TaskError(
                f"task {task.id!r} names no page of MiniWoB++: extra['page'] and extra['seed'] are needed, as the "
                "generator 'miniwob' gives"
            )
        self._page: tuple[MiniWob, Engine] | None = None
        self._seen: Observation | None = None

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Do what a call asks for, and show the page after it.

        Raises:
            ToolError: it asks for nothing that can be done; says what can.
            WebError: the page or the browser failed.
        """
        started_s = time.perf_counter()
        action, given = _read(arguments, self._options.actions)
        if self._page is None:
            self._page = await self._pages.take()
        page, _ = self._page
        if self._seen is None:
            self._seen = await page.areset(self._name, self._seed)  # type: ignore[arg-type]
        seen = self._seen
        if action != "look":
            seen = self._seen = await page.aact(action, *given)
        error = seen.error if action != "look" else None
        lines = [f"{action} was not done: {error}"] if error else []
        paid = {"raw": seen.raw_reward, "discounted": seen.reward, "success": seen.success}[self._options.pays]
        return ToolResult(
            text="\n".join([*lines, f"Goal: {seen.goal}", seen.text]),
            status="error" if error else "ok",
            data={"page": self._name, "raw_reward": seen.raw_reward, "reward": seen.reward, "reason": seen.reason},
            seconds=time.perf_counter() - started_s,
            ended=seen.done,
            score=seen.success,
            reward=paid or 0.0 if seen.done else 0.0,
        )

    async def fork(self) -> "Session":
        """Refused.

        Raises:
            ForkError: always; the same calls on the same page lead to the same, so they can be run again.
        """
        raise ForkError("what the scripts of a page in Chromium keep cannot be copied")

    async def close(self) -> None:
        """Give the page back."""
        page, self._page, self._seen = self._page, None, None
        if page is not None:
            await self._pages.give_back(*page)


def _read(arguments: Mapping[str, Any], actions: tuple[str, ...]) -> tuple[str, list[Any]]:
    """The action of a call and what `MiniWob.act` takes for it, checked."""
    action, given = _actions.split(arguments, actions)
    wanted = _ACTIONS[action]
    for name in given:
        _actions.must_take(action, name, wanted)
    values: list[Any] = []
    for name in wanted:
        if name not in given:
            raise ToolError(f"{action} needs the argument {name!r}: {_ARGUMENTS[name][1]}")
        value = _value(name, given[name])
        values += value if isinstance(value, list) else [value]
    return action, values


def _value(name: str, value: Any) -> Any:
    kind = _ARGUMENTS[name][0]
    if kind is _TEXT:
        return _text(name, value)
    if "items" in kind:
        choices = value if isinstance(value, list) and value else [value]
        return [_text(name, choice) for choice in choices[:_MAX_TEXT]]
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    fits = not isinstance(value, bool) and isinstance(value, int | float)
    least, most = (0, _MOST[name]) if name in _MOST else (0 if kind is _NUMBER else -_MAX_PIXELS, _MAX_PIXELS)
    if not fits or not least <= value <= most or (kind is _NUMBER and value != int(value)):
        what = f"a {'whole ' if kind is _NUMBER else ''}number from {least} to {most}"
        raise ToolError(f"the argument {name!r} must be {what}, not {value!r:.40}")
    return int(value) if kind is _NUMBER else value


def _text(name: str, value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ToolError(f"the argument {name!r} must be a text, not {value!r:.40}")
    if len(value) > _MAX_TEXT:
        raise ToolError(f"the argument {name!r} has {len(value)} characters: at most {_MAX_TEXT} are taken")
    return value.encode("utf-8", "replace").decode().replace("\0", "")
