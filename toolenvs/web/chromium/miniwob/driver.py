"""One kept page that shows one task after another: reset, act, and what is seen then."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from toolenvs.errors import ConfigError, WebError
from toolenvs.web.chromium.engine import Engine, shared
from toolenvs.web.chromium.miniwob import tasks
from toolenvs.web.chromium.miniwob.files import served
from toolenvs.web.chromium.miniwob.observation import Observation

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route

_HERE = Path(__file__).parent
_CLOCK = (_HERE / "clock.js").read_text("utf-8")
_CLIPBOARD = (_HERE / "clipboard.js").read_text("utf-8")
_OBSERVE = (_HERE / "observe.js").read_text("utf-8")
_SITE = "http://miniwob.test/"
_WIDTH, _HEIGHT = 160, 210
_MARGIN = 60
"""Pixels around the page's own 160 x 210, for menus and dialogs that open beyond it."""
_RESETS = 100
"""How many tasks a page shows before another takes its place: each leaves some 3 MB in a memory that is bounded."""
_START = "([seed, ms]) => { Math.seedrandom(seed); core.startEpisodeReal(); __toolenvsAdvance(ms); }"
_ADVANCE = "(ms) => { __toolenvsAdvance(ms); scrollTo(0, 0); }"
"""A page is made to be seen from its corner; where a selection or a click has moved it, it is put back."""
_PLACE = """(number) => {
  const element = document.querySelector(`[data-te-id="${number}"]`);
  if (!element) return null;
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}"""
_WRITE = """([number, text]) => {
  const element = document.querySelector(`[data-te-id="${number}"]`);
  if (!element) return "no such element";
  if (element.disabled || element.readOnly) return "the element cannot be changed";
  element.focus();
  if (element.select) { element.select(); return null; }
  return element.isContentEditable ? null : "the element takes no text";
}"""
_CHOOSE = """([number, wanted]) => {
  const element = document.querySelector(`[data-te-id="${number}"]`);
  if (!element) return "no such element";
  if (element.tagName !== "SELECT") return "the element is no list to choose from";
  const found = [...element.options].filter((o) => wanted.includes(o.text.trim()) || wanted.includes(o.value));
  if (!found.length) return "the list has no such choice";
  for (const option of element.options) option.selected = found.includes(option);
  element.dispatchEvent(new Event("input", { bubbles: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return null;
}"""
_HOLD = """() => {
  const places = [...document.querySelectorAll("*")].map((element) => [element, element.scrollLeft, element.scrollTop]);
  window.__toolenvsLetGo = () => {
    const field = document.activeElement;
    const within = field && field.tagName === "TEXTAREA" && field.selectionStart !== field.selectionEnd;
    if (getSelection().isCollapsed && !within) return;
    for (const [element, left, top] of places) {
      element.scrollLeft = left;
      element.scrollTop = top;
    }
  };
}"""
"""While text is selected with the pointer, Chromium scrolls what is below it, by the clock on the wall."""
_SCROLL = """([number, dy]) => {
  const element = document.querySelector(`[data-te-id="${number}"]`);
  if (!element) return "no such element";
  element.scrollTop += dy;
  return null;
}"""


class MiniWob:
    """Pages of MiniWoB++ in one context of the shared Chromium. One action at a time; every method has a twin `a...`.

    An action that cannot be done (no such element) is told in `Observation.error`. What raises is infrastructure.
    """

    def __init__(
        self, *, step_s: float = 0.5, timeout_s: float = 10.0, engine: Engine | None = None, **chromium: Any
    ) -> None:
        """Nothing is opened before the first reset.

        Args:
            step_s: how far the page's clock goes on after each action; pages with a time limit end by this clock.
            timeout_s: wall time that an action may take; a page that takes longer is broken.
            engine: the browser to use; None: the shared one with the options of `chromium`.
            chromium: options of `toolenvs.web.chromium.shared`.

        Raises:
            ConfigError: an option cannot be used.
            MissingExtraError: Playwright is not installed.
            WebError: there is no browser.
        """
        for name, value in (("step_s", step_s), ("timeout_s", timeout_s)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
                raise ConfigError(f"MiniWoB++: {name} must be a number above 0, at most 3600, not {value!r}")
        self._engine = engine or shared(**chromium)
        self._step_ms = step_s * 1000
        self._timeout_s = timeout_s
        self._root = tasks.root()
        self._context: BrowserContext | None = None
        self._page: Page | None = None
        self._shown = 0
        self._task = ""
        self._last: Observation | None = None

    def reset(self, task: str, seed: int = 0) -> Observation:
        """Show `task` anew; the same seed gives the same page.

        Raises:
            ConfigError: there is no such task, or the seed is no whole number.
            WebError: the browser or the page broke.
        """
        return self._engine.run(self._reset(task, seed))

    async def areset(self, task: str, seed: int = 0) -> Observation:
        """As `reset`."""
        return await self._engine.arun(self._reset(task, seed))

    def act(self, kind: str, *arguments: Any) -> Observation:
        """Do one action, by its name: "click", "type", "select", "press", "xy", "hover", "drag", "scroll" or "wait".

        Raises:
            ConfigError: there is no such action, or its arguments are of another form; or there was no reset.
            WebError: the browser or the page broke.
        """
        return self._engine.run(self._act(kind, arguments))

    async def aact(self, kind: str, *arguments: Any) -> Observation:
        """As `act`."""
        return await self._engine.arun(self._act(kind, arguments))

    def click(self, number: int) -> Observation:
        """Click the middle of an element."""
        return self.act("click", number)

    async def aclick(self, number: int) -> Observation:
        """As `click`."""
        return await self.aact("click", number)

    def type(self, number: int, text: str) -> Observation:
        """Write `text` into a field, in place of what it holds, key by key."""
        return self.act("type", number, text)

    async def atype(self, number: int, text: str) -> Observation:
        """As `type`."""
        return await self.aact("type", number, text)

    def select(self, number: int, *choices: str) -> Observation:
        """Choose from a list, by what is shown or by value."""
        return self.act("select", number, *choices)

    async def aselect(self, number: int, *choices: str) -> Observation:
        """As `select`."""
        return await self.aact("select", number, *choices)

    def press(self, keys: str) -> Observation:
        """Press a key or several together: "Enter", "Control+C"."""
        return self.act("press", keys)

    async def apress(self, keys: str) -> Observation:
        """As `press`."""
        return await self.aact("press", keys)

    def xy(self, x: float, y: float) -> Observation:
        """Click a point, in pixels from the upper left."""
        return self.act("xy", x, y)

    async def axy(self, x: float, y: float) -> Observation:
        """As `xy`."""
        return await self.aact("xy", x, y)

    def hover(self, x: float, y: float) -> Observation:
        """Move the pointer to a point."""
        return self.act("hover", x, y)

    async def ahover(self, x: float, y: float) -> Observation:
        """As `hover`."""
        return await self.aact("hover", x, y)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> Observation:
        """Press at one point, move to another, let go."""
        return self.act("drag", x, y, to_x, to_y)

    async def adrag(self, x: float, y: float, to_x: float, to_y: float) -> Observation:
        """As `drag`."""
        return await self.aact("drag", x, y, to_x, to_y)

    def scroll(self, number: int, dy: float) -> Observation:
        """Scroll an element down by `dy` pixels."""
        return self.act("scroll", number, dy)

    async def ascroll(self, number: int, dy: float) -> Observation:
        """As `scroll`."""
        return await self.aact("scroll", number, dy)

    async def _reset(self, task: str, seed: int) -> Observation:
        tasks.known(task)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ConfigError(f"MiniWoB++: seed must be a whole number, not {seed!r}")
        started = time.perf_counter()

        async def show() -> None:
            page = await self._ready_page()
            await _move(page, _WIDTH + _MARGIN / 2, _HEIGHT + _MARGIN / 2)  # not where the last episode left it
            await page.goto(f"{_SITE}miniwob/{task}.html", timeout=0)  # the deadline of the action holds
            await page.evaluate(_START, [str(seed), self._step_ms])

        self._task = task
        self._last = None
        return await self._bounded(show, started)

    async def _act(self, kind: str, arguments: tuple[Any, ...]) -> Observation:
        if self._last is None or self._page is None:
            raise ConfigError("MiniWoB++: reset() comes before the first action")
        how = _ACTIONS.get(kind)
        if how is None:
            raise ConfigError(f"MiniWoB++ has no action {kind!r}; known: {', '.join(_ACTIONS)}")
        form, do = how
        if (
            len(arguments) < len(form)
            or not all(
                isinstance(value, form[min(place, len(form) - 1)] if form else object) and not isinstance(value, bool)
                for place, value in enumerate(arguments)
            )
            or (len(arguments) > len(form) and kind != "select")
        ):
            raise ConfigError(f"MiniWoB++: {kind} takes {len(form)} arguments, see its method; not {arguments!r}")
        started = time.perf_counter()
        if self._last.done:
            return _with_error(self._last, "the episode has ended: reset", started)
        page = self._page

        async def go() -> str | None:
            error: str | None = await do(page, arguments)
            await page.evaluate(_ADVANCE, self._step_ms)
            await _move(page, *_pointers[page])  # what is below it now is seen at once, and not with the next frame
            return error

        return await self._bounded(go, started)

    async def _bounded(self, do: Any, started: float) -> Observation:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(self._timeout_s):
                error = await do()
                assert self._page is not None
                seen = await self._page.evaluate(_OBSERVE)
        except TimeoutError:
            await self._drop()
            raise WebError(f"MiniWoB++ {self._task}: no answer of the page within {self._timeout_s:g} s") from None
        except Error as broken:
            await self._drop()
            raise WebError(f"MiniWoB++ {self._task}: {str(broken).splitlines()[0]}") from None
        except BaseException:
            await self._drop()
            raise
        if not seen["ready"]:
            await self._drop()
            raise WebError(f"MiniWoB++ {self._task}: the page did not become ready")
        self._last = Observation(
            goal=seen["goal"],
            text="\n".join(seen["lines"]),
            elements=len(seen["lines"]),
            done=seen["done"],
            raw_reward=float(seen["raw"]),
            reward=float(seen["reward"]),
            success=tasks.success(self._task, seen["done"], float(seen["raw"])),
            reason=seen["reason"],
            error=error,
            seconds=time.perf_counter() - started,
        )
        return self._last

    async def _ready_page(self) -> "Page":
        if self._page is None or self._page.is_closed() or self._shown >= _RESETS:
            await self._drop()
            self._shown = 0
            self._context = await self._engine.context(
                viewport={"width": _WIDTH + _MARGIN, "height": _HEIGHT + _MARGIN}
            )
            for script in (_CLOCK, _CLIPBOARD):
                await self._context.add_init_script(script)
            await self._context.route("**/*", self._serve)
            self._page = await self._context.new_page()
        self._shown += 1
        return self._page

    async def _serve(self, route: "Route") -> None:
        address = route.request.url
        path = (self._root / unquote(urlsplit(address).path).lstrip("/")).resolve()
        if not address.startswith(_SITE) or not path.is_relative_to(self._root.resolve()) or not path.is_file():
            await route.fulfill(status=404, body="")
            return
        kind, body = served(path)
        await route.fulfill(status=200, content_type=kind, body=body)

    async def _drop(self) -> None:
        context, self._context, self._page, self._last = self._context, None, None, None
        if context is not None:
            await self._engine.give_back(context)

    def close(self) -> None:
        """Give the context back; a second call does nothing."""
        if self._context is not None and self._engine.usable:
            self._engine.run(self._drop())

    async def aclose(self) -> None:
        """As `close`."""
        if self._context is not None and self._engine.usable:
            await self._engine.arun(self._drop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _with_error(last: Observation, error: str, started: float) -> Observation:
    from dataclasses import replace

    return replace(last, error=error, seconds=time.perf_counter() - started)


_pointers: "WeakKeyDictionary[Page, tuple[float, float]]" = WeakKeyDictionary()
"""Where the pointer of each page is."""


async def _move(page: "Page", x: float, y: float) -> None:
    _pointers[page] = (x, y)
    await page.mouse.move(x, y)


async def _click(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    place = await page.evaluate(_PLACE, arguments[0])
    if place is None:
        return f"there is no element {arguments[0]}"
    await _move(page, *place)
    await page.mouse.click(*place)
    return None


async def _type(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    number, text = arguments
    error: str | None = await page.evaluate(_WRITE, [number, text])
    if error is not None:
        return error
    if not text:
        await page.keyboard.press("Delete")
    await page.keyboard.type(text)
    return None


async def _select(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    told: str | None = await page.evaluate(_CHOOSE, [arguments[0], [str(choice) for choice in arguments[1:]]])
    return told


async def _press(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    from playwright.async_api import Error

    try:
        await page.keyboard.press(arguments[0])
    except Error as error:
        if "Unknown key" not in str(error):
            raise
        return f"there is no key {arguments[0]!r}: write it as Enter, Tab, ArrowDown, Control+A"
    return None


async def _xy(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    await _move(page, *arguments)
    await page.mouse.click(*arguments)
    return None


async def _hover(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    await _move(page, *arguments)
    return None


async def _drag(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    x, y, to_x, to_y = arguments
    await page.mouse.move(x, y)
    await page.evaluate(_HOLD)
    await page.mouse.down()
    await page.mouse.move(to_x, to_y, steps=8)
    await page.mouse.up()
    await page.evaluate("() => __toolenvsLetGo()")
    _pointers[page] = (to_x, to_y)
    return None


async def _scroll(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    told: str | None = await page.evaluate(_SCROLL, list(arguments))
    return told


async def _wait(page: "Page", arguments: tuple[Any, ...]) -> str | None:
    return None


_NUMBER = (int, float)
_ACTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "click": ((int,), _click),
    "type": ((int, str), _type),
    "select": ((int, str), _select),
    "press": ((str,), _press),
    "xy": ((_NUMBER, _NUMBER), _xy),
    "hover": ((_NUMBER, _NUMBER), _hover),
    "drag": ((_NUMBER,) * 4, _drag),
    "scroll": ((int, _NUMBER), _scroll),
    "wait": ((), _wait),
}
"""Name -> the kinds of its arguments, and what does it; what that returns is why it could not be done."""
