"""An ASGI application as a site: shops, forms and whatever else is generated, in this process and without a socket."""

from typing import Any, ClassVar

from toolenvs.errors import ConfigError, WebError
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.source import Loaded, Source
from toolenvs.web.transport.asgi import App, AsgiTransport
from toolenvs.web.urls import Url, canonical


class Application(Source):
    """One host that an application answers for; every other is not there.

    An application that keeps the state of an episode (a cart, what a form changed) may have a method `fork()` that
    gives an independent copy of it: then episodes can be forked.
    """

    posts: ClassVar[bool] = True

    def __init__(self, app: App, *, home: str = "http://app.test/", stateless: bool = False) -> None:
        """Make a site of an application.

        Args:
            app: ASGI 3, HTTP; called in the caller's event loop, or in one of its thread's own for blocking callers.
            home: its address; all of its host and port is the application's.
            stateless: whether it keeps nothing between requests but in cookies, so that forks may share it.

        Raises:
            ConfigError: the address is wrong.
        """
        try:
            begin = canonical(home)
        except Fault as fault:
            raise ConfigError(f"web: home={home!r}: {fault.told}") from None
        self.home = begin.text
        self._origin = begin.origin
        self._app = app
        self._stateless = stateless
        self.forks = stateless or callable(getattr(app, "fork", None))

    def transport(self, limits: Limits) -> AsgiTransport:
        """What one episode asks the application through."""
        return AsgiTransport(self._app, max_body_bytes=limits.max_body_bytes)

    def check(self, url: Url) -> None:
        """That the address is the application's.

        Raises:
            Fault: not_found.
        """
        if url.origin != self._origin:
            told = f"{url.host} is not part of this site: open pages of {self.home}"
            raise Fault("not_found", told, url=url.text)

    async def load(self, fetcher: Fetcher, request: Request) -> Loaded:
        """The page that the application gives.

        Raises:
            Fault: there is none; says why.
            WebError: the application failed.
        """
        try:
            return await super().load(fetcher, request)
        except (Fault, TimeoutError):
            raise
        except Exception as error:
            told = f"the application failed at {request.method} {request.url.text}: {type(error).__name__}: {error}"
            raise WebError(told) from error

    def fork(self) -> "Application":
        """A site of a copy of the application, where it keeps state."""
        if self._stateless:
            return self
        copy: Any = self._app
        return Application(copy.fork(), home=self.home)
