"""What robots.txt files allow, each read once an episode (RFC 9309, by `urllib.robotparser`)."""

from urllib.robotparser import RobotFileParser

from toolenvs.web.faults import Fault
from toolenvs.web.urls import Url

_MAX_BYTES = 500_000


class Robots:
    """The rules of the hosts that an episode has met."""

    def __init__(self, agent: str) -> None:
        """Rules for `agent`."""
        self._agent = agent
        self._rules: dict[tuple[str, str, int], RobotFileParser] = {}

    def fork(self) -> "Robots":
        """As this one now, then by itself."""
        copy = Robots(self._agent)
        copy._rules = dict(self._rules)
        return copy

    def knows(self, url: Url) -> bool:
        """Whether the rules of the address' host were read."""
        return url.origin in self._rules

    def learn(self, url: Url, http_status: int, body: bytes) -> None:
        """Keep what /robots.txt gave: no file allows all, a server that fails to give it allows nothing."""
        if http_status >= 500:
            lines = ["User-agent: *", "Disallow: /"]
        elif http_status >= 300:
            lines = []
        else:
            lines = body[:_MAX_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
        rules = RobotFileParser()
        rules.parse(lines)
        rules.modified()
        self._rules[url.origin] = rules

    def check(self, url: Url) -> None:
        """That a learned host allows an address.

        Raises:
            Fault: blocked.
        """
        if not self._rules[url.origin].can_fetch(self._agent, url.text):
            told = f"robots: {url.host} asks programs not to read this page: open another page"
            raise Fault("blocked", told, url=url.text)

    def delay_s(self, url: Url) -> float:
        """Seconds between two requests that a host asks for; 0 where it asks for nothing."""
        rules = self._rules.get(url.origin)
        delay = rules.crawl_delay(self._agent) if rules is not None else None
        return float(delay or 0)
