"""What one server of environments allows."""

from dataclasses import dataclass, field

from toolenvs.serve.numbers import check_numbers

ALLOWED = (
    "budget.*",
    "budget.keep",
    "budget.ellipsis",
    "budget.when_spent",
    "budget.notice",
    "budget.turns_left",
    "reward.*",
    "tasks.split",
    "tasks.limit",
    "tasks.difficulty",
)
"""Keys that clients may override unless the server is told others; see `toolenvs.serve.env.allowed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The limits of a server of environments; see `toolenvs serve env --help`.

    Raises:
        ConfigError: a limit is no positive number.
    """

    pages: tuple[str, ...] = ()
    """Ids of bundled pages and TOML files that may be asked for; () for every bundled page."""
    allow: tuple[str, ...] = ALLOWED
    """Keys that a client may override."""
    token: str = field(default="", repr=False)
    """Clients must send it as a bearer token; "": none."""
    max_sessions: int = 1024
    """Episodes that live at one time; further ones are answered 429."""
    max_sessions_per_client: int = 1024
    """Of them, those of one address."""
    lease_s: float = 120.0
    """After so long without a request or a heartbeat an episode is ended, and its tools are freed."""
    max_running: int = 256
    """Turns, beginnings and copies that are worked on at one time."""
    max_queued: int = 4096
    """How many of them may wait; further ones are answered 429."""
    max_per_client: int = 4096
    """Of one address, worked on and waiting; further ones are answered 429."""
    queue_s: float = 60.0
    """How long one may wait until it is answered 503."""
    step_s: float = 600.0
    """What one turn may take; then its episode ends as infrastructure."""
    hold_s: float = 20.0
    """After so long a request is answered 202, "it goes on, ask again"."""
    max_envs: int = 32
    """Pages with overrides that are kept ready."""
    max_body_bytes: int = 16 << 20
    """Of one request."""
    body_s: float = 30.0
    """How long one request's head, and then its body, may take to arrive."""

    def __post_init__(self) -> None:
        check_numbers(self, "server of environments")
