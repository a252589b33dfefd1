"""The one Chromium of a process: started when it is needed, shared between episodes, started again when it has died.

Playwright runs on an event loop of its own, in a thread of its own, so that blocking callers and those on any event
loop share one browser.
"""

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Self, TypeVar

from toolenvs.errors import MissingExtraError, WebError
from toolenvs.web.chromium import containment
from toolenvs.web.chromium.containment import Isolation, Setting

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Playwright

T = TypeVar("T")

START_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 10.0
LINGER_S = 60.0
"""After the last context was given back; then the browser ends."""
WATCH_S = 1.0
"""Between two questions whether Playwright's driver still answers; a browser that ends tells so by itself."""


class Engine:
    """One Chromium and the thread that drives it. From any thread or event loop.

    A page cannot break another's: each context has processes of its own. Where Chromium itself ends (killed, or out of
    memory), calls on its contexts raise `WebError`, and the next context starts a new one.
    """

    def __init__(self, setting: Setting) -> None:
        """Nothing is started yet.

        Raises:
            MissingExtraError: Playwright is not installed.
        """
        try:
            import playwright.async_api  # noqa: F401
        except ImportError:
            raise MissingExtraError("playwright", "chromium", "the Chromium backend") from None
        self.setting = setting
        self.isolation: Isolation | None = None
        """What holds the browser; None before it was started."""
        self.version = ""
        """The browser's version; "" before it was started."""
        self.generation = 0
        """How often it was started."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._starting: asyncio.Lock | None = None
        self._contexts = 0
        self._linger: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None
        self._gone: asyncio.Event | None = None  # set when the browser that was started last has ended
        self._watching: asyncio.Task[None] | None = None
        self._session: CDPSession | None = None
        self._closed = False

    @property
    def usable(self) -> bool:
        """Whether it is not closed, and this process's own."""
        return not self._closed and self._pid == os.getpid()

    @property
    def alive_generation(self) -> int:
        """The generation of the browser that runs; 0 where none does."""
        return self.generation if self._runs(self._browser) else 0

    def _runs(self, browser: "Browser | None") -> bool:
        ended = self._gone is not None and self._gone.is_set()
        return browser is not None and browser.is_connected() and not (browser is self._browser and ended)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run `coroutine` on the browser's loop; cancelling the future cancels it.

        Raises:
            WebError: the engine is closed.
        """
        try:
            loop = self._ready_loop()
        except BaseException:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of `coroutine`, which runs on the browser's loop; an interrupt cancels it."""
        future = self.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                future.cancel()
                wait([future], CLOSE_TIMEOUT_S)
            raise

    async def arun(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """As `run`, from any event loop; cancelling cancels it."""
        return await asyncio.wrap_future(self.submit(coroutine))

    def _ready_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._pid != os.getpid():
                raise WebError("this browser belongs to the process that this one was forked from: open a new one")
            if self._closed:
                raise WebError("this Chromium is closed: open the browser again")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="toolenvs-chromium", daemon=True)
                self._thread.start()
            return self._loop

    async def context(self, **options: Any) -> "BrowserContext":
        """A fresh context, to be given back by `give_back`; to be awaited on the browser's loop.

        Raises:
            WebError: Chromium cannot be started.
        """
        from playwright.async_api import Error

        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        self._contexts += 1
        try:
            for again in (True, False):
                browser = await self._started()
                try:
                    async with asyncio.timeout(START_TIMEOUT_S):
                        return await self.unless_gone(browser.new_context(service_workers="block", **options))
                except (Error, TimeoutError) as error:
                    if self._runs(browser) or not again:
                        raise WebError(f"Chromium gave no context ({_first_line(error)})") from None
            raise AssertionError
        except BaseException:
            self._one_less()
            raise

    async def give_back(self, context: "BrowserContext") -> None:
        """Close a context with its pages; to be awaited on the browser's loop, once for each."""
        from playwright.async_api import Error

        try:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await context.close()
        finally:
            self._one_less()

    def _one_less(self) -> None:
        self._contexts -= 1
        if self._contexts == 0 and not self._closed:
            self._linger = asyncio.get_running_loop().call_later(LINGER_S, self._rest)

    def _rest(self) -> None:
        self._linger = None
        self._resting = asyncio.get_running_loop().create_task(self._stop())

    async def _started(self) -> "Browser":
        from playwright.async_api import Error

        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if not self._runs(self._browser):
                await self._stop(locked=True)
                browser = await self._start()
                self.version = browser.version
                gone = asyncio.Event()
                browser.on("disconnected", lambda _: gone.set())
                with contextlib.suppress(Error):
                    self._session = await browser.new_browser_cdp_session()
                self._browser, self._gone = browser, gone
                self._watching = asyncio.get_running_loop().create_task(self._watch(gone))
                self.generation += 1
            assert self._browser is not None
            return self._browser

    async def unless_gone(self, action: Awaitable[T]) -> T:
        """What an action gives, to be awaited on the browser's loop; it is cancelled when the browser ends.

        Raises:
            playwright's Error: the browser ended.
        """
        from playwright.async_api import Error

        assert self._gone is not None
        acting = asyncio.ensure_future(action)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((acting, gone), return_when=asyncio.FIRST_COMPLETED)
            if not acting.done():
                raise Error("Chromium ended")
            return acting.result()
        finally:
            gone.cancel()
            if not acting.done():
                acting.cancel()
                await asyncio.wait((acting,))

    async def ask(self, question: Awaitable[T]) -> T:
        """What the browser or its driver answers, to be awaited on the browser's loop.

        Raises:
            WebError: it has ended, or does not answer.
        """
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                return await self.unless_gone(question)
        except (Error, TimeoutError) as error:
            await self.ended()
            raise WebError(f"Chromium does not do what it is asked to ({_first_line(error):.200})") from None

    async def ended(self) -> bool:
        """Whether the browser that was started last has ended; asks it, since its pages are told to close before."""
        from playwright.async_api import Error

        assert self._gone is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WATCH_S):
                try:
                    assert self._session is not None
                    await self._session.send("Browser.getVersion")
                except Error:
                    self._gone.set()
        return self._gone.is_set()

    async def _watch(self, gone: asyncio.Event) -> None:
        """Note the end of Playwright's driver, of which nothing else tells: some calls in flight wait for ever."""
        while not gone.is_set():
            await asyncio.sleep(WATCH_S)
            await self.ended()

    async def _start(self) -> "Browser":
        from playwright.async_api import Error, async_playwright

        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                self._playwright = await async_playwright().start()
        except (Error, OSError, TimeoutError) as error:
            raise WebError(f"Playwright's driver does not start ({_first_line(error)})") from None
        refused: list[str] = []
        for isolation in self.setting.tries():
            executable, arguments = containment.command(self.setting, isolation)
            try:
                browser = await self._playwright.chromium.launch(
                    executable_path=executable,
                    ignore_default_args=True,
                    args=arguments,
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                    timeout=START_TIMEOUT_S * 1000,
                )
            except Error as error:
                refused.append(f"{isolation}: {_reason(error)}")
                continue
            self.isolation = isolation
            return browser
        await self._stop(locked=True)
        raise WebError(f"{self.setting.executable} does not start ({'; '.join(refused)})")

    async def _stop(self, *, locked: bool = False) -> None:
        from playwright.async_api import Error

        if not locked:
            if self._starting is None:
                return
            async with self._starting:
                if self._contexts == 0 or self._closed:
                    await self._stop(locked=True)
            return
        browser, self._browser = self._browser, None
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
        playwright, self._playwright = self._playwright, None
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                if browser is not None:
                    await browser.close()
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                if playwright is not None:
                    await playwright.stop()

    def close(self) -> None:
        """End Chromium and the thread; contexts that are in use raise `WebError`. A second call does nothing."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                self._closed = True
                return
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._finish(), loop).result(3 * CLOSE_TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_TIMEOUT_S)
        if not thread.is_alive():
            loop.close()

    async def _finish(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
        await self._stop()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_asyncgens()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_shared: dict[Setting, Engine] = {}
_shared_lock = threading.Lock()


def shared(**options: Any) -> Engine:
    """The engine of this process with these options, which are `containment.setting`'s. A forked child gets its own.

    It ends with the process, and Chromium a minute after its last use.

    Raises:
        ConfigError: an option cannot be used.
        MissingExtraError: Playwright is not installed.
        WebError: there is no browser.
    """
    setting = containment.setting(**options)
    with _shared_lock:
        engine = _shared.get(setting)
        if engine is None or not engine.usable:
            engine = _shared[setting] = Engine(setting)
        return engine


def shutdown() -> None:
    """End every shared engine now."""
    with _shared_lock:
        engines = list(_shared.values())
        _shared.clear()
    for engine in engines:
        engine.close()


atexit.register(shutdown)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _reason(error: BaseException) -> str:
    """What the launcher or Chromium said last; Playwright wraps it in a log."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line.partition("[err]")[2].strip() for line in lines if "[err]" in line]
    return (told or lines)[-1] if lines else type(error).__name__
