"""Which ways of holding Chromium work on this machine, and what each leaves open."""

from typing import NamedTuple

from toolenvs.errors import ToolenvsError, WebError
from toolenvs.web.chromium.containment import ISOLATIONS, Isolation, setting
from toolenvs.web.chromium.engine import Engine

_OPEN: dict[Isolation, str] = {
    "namespace": "flaws of the kernel; CPU and time within the deadline of an action",
    "bare-namespace": (
        "flaws of the kernel; a flaw in Chromium gives a page the browser's own user, with the files that any user of "
        "this machine may read, but no network"
    ),
    "flags": (
        "a flaw in Chromium gives a page this process's user and its network; without one, pages reach nothing but "
        "what this process fetches for them"
    ),
}


class Tier(NamedTuple):
    """One way of holding Chromium."""

    isolation: Isolation
    works: bool
    detail: str
    does_not_cover: str


def probe(executable: str | None = None) -> list[Tier]:
    """Start Chromium in every way, the strongest first; about a second each.

    Args:
        executable: the browser, where it is not the one that is found.
    """
    return [_try(isolation, executable) for isolation in ISOLATIONS]


def _try(isolation: Isolation, executable: str | None) -> Tier:
    try:
        with Engine(setting(executable=executable, isolation=isolation)) as engine:
            engine.run(_open_page(engine))
            detail = f"Chromium {engine.version}"
    except ToolenvsError as error:
        return Tier(isolation, False, str(error), _OPEN[isolation])
    return Tier(isolation, True, detail, _OPEN[isolation])


async def _open_page(engine: Engine) -> None:
    from playwright.async_api import Error

    context = await engine.context()
    try:
        page = await context.new_page()
        await page.set_content("<p>6 * 7</p>")
        if await page.evaluate("6 * 7") != 42:
            raise WebError("Chromium computes wrongly")
    except Error as error:
        raise WebError(f"Chromium opens no page ({error})") from None
    finally:
        await engine.give_back(context)
