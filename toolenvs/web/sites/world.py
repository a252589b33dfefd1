"""The linked pages of a fictional world as a recorded site that needs no file: a page is made when it is asked for."""

import hashlib

from toolenvs.web.store import Recorded
from toolenvs.world import World, named
from toolenvs.world.pages import FORM, URL, paths, web_page

HEADERS = (("content-type", "text/html; charset=utf-8"),)


class WorldSite:
    """As `toolenvs.web.store.PageStore`, over a world. Nothing in it changes, so that threads and forks may share it.

    Args:
        world: whose pages.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.home = URL
        self.fingerprint = hashlib.sha256(f"world {len(world)} {world.seed} {FORM}".encode()).hexdigest()

    @classmethod
    def named(cls, name: str) -> "WorldSite | None":
        """The site of "world:PAGES" or "world:PAGES:SEED"; None where the name is of something else.

        Raises:
            PageError: it begins with "world:" and is not of that form.
            TaskError: there is no world of that size.
        """
        world = named(name)
        return None if world is None else cls(world)

    def get(self, url: str) -> Recorded | None:
        """The page of an address; None where the world has none."""
        html = web_page(self.world, url.removeprefix(URL)) if url.startswith(URL) else None
        return None if html is None else Recorded(url, 200, HEADERS, html.encode())

    def __contains__(self, url: str) -> bool:
        return self.get(url) is not None

    def __len__(self) -> int:
        return sum(1 for _ in paths(self.world))

    def urls(self) -> list[str]:
        """All addresses, sorted."""
        return sorted(URL + path for path in paths(self.world))

    def close(self) -> None:
        """Nothing is held."""
