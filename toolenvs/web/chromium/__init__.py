"""Real Chromium, driven by Playwright and shut in: pages with scripts, keys and coordinates.

`toolenvs.web.open(..., backend="chromium")` gives a browser with the actions of the text backend, and
`toolenvs.web.chromium.miniwob` the tasks of MiniWoB++. One Chromium serves all episodes of a process; each has a
context of its own, so that cookies, storage and cache are never shared.

What leaves the browser is a request that Playwright hands to this process, and nothing else: Chromium runs in a network
namespace without a network (or, where no namespace can be made, behind a proxy that is not there; `probe` says which).
"""

from toolenvs.web.chromium.engine import Engine, shared, shutdown
from toolenvs.web.chromium.probing import Tier, probe

__all__ = ["Engine", "Tier", "probe", "shared", "shutdown"]
