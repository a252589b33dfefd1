"""The linked pages of a fictional world, each with a text that addresses the model: see `toolenvs.world.injections`."""

import hashlib

from toolenvs.web.sites.world import HEADERS, WorldSite
from toolenvs.web.store import Recorded
from toolenvs.world import World
from toolenvs.world.injections import FORM, injected, injection, thanks
from toolenvs.world.pages import URL


class InjectedWorld(WorldSite):
    """As `WorldSite`; the addresses that the texts send to are there too, so that an agent that obeys is not warned.

    Args:
        world: whose pages.
        seed: of what they carry.
    """

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(world)
        self.seed = seed
        self.fingerprint = hashlib.sha256(f"{self.fingerprint} injected {seed} {FORM}".encode()).hexdigest()

    def get(self, url: str) -> Recorded | None:
        """The page of an address; None where there is none."""
        html = thanks(url)
        if html is not None:
            return Recorded(url, 200, HEADERS, html.encode())
        recorded = super().get(url)
        found = None if recorded is None else injection(self.seed, url.removeprefix(URL))
        if recorded is None or found is None:
            return recorded
        return Recorded(url, recorded.status, recorded.headers, injected(recorded.body.decode(), found).encode())
