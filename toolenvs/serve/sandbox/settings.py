"""What one sandbox server allows."""

import os
from dataclasses import dataclass, field

from toolenvs.errors import ConfigError
from toolenvs.serve.numbers import check_numbers

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The limits of a sandbox server; see `toolenvs serve sandbox --help`.

    Raises:
        ConfigError: a limit is no positive number, or a default is above its maximum.
    """

    backend: str = "local"
    """Where programs run; see `toolenvs.sandbox.open`."""
    min_isolation: str = ""
    """The weakest isolation that is accepted; "": the backend's own choice."""
    token: str = field(default="", repr=False)
    """Clients must send it as a bearer token; "": none."""
    timeout_s: float = 10.0
    """Of a run whose request names no `run_timeout`."""
    max_timeout_s: float = 120.0
    """The longest `run_timeout` that a request may name."""
    memory_mb: int = 512
    """Of a program whose request names no `memory_limit_MB`."""
    max_memory_mb: int = 2048
    """The largest `memory_limit_MB` that a request may name."""
    output_chars: int = 1 << 20
    """Of each stream."""
    max_running: int = max(4, 2 * _CORES)
    """Programs that run at one time."""
    max_queued: int = 256
    """Programs that wait; further ones are answered 429."""
    max_per_client: int = 256
    """Programs of one address, running and waiting; further ones are answered 429."""
    queue_s: float = 60.0
    """How long a program may wait until it is answered 503."""
    max_body_bytes: int = 16 << 20
    """Of one request."""
    max_code_chars: int = 2_000_000
    """Of one program, and of its standard input."""
    max_cells: int = 1000
    """Of one request to /run_jupyter."""
    body_s: float = 30.0
    """How long one request's head, and then its body, may take to arrive."""
    max_sessions: int = 128
    """Interpreters that keep their state; further ones are answered 429."""
    session_idle_s: float = 3600.0
    """After so long without a run a session is ended."""

    def __post_init__(self) -> None:
        check_numbers(self, "sandbox server")
        for name in ("timeout_s", "memory_mb"):
            default, most = getattr(self, name), getattr(self, f"max_{name}")
            if default > most:
                raise ConfigError(f"sandbox server: {name} = {default:g} is above max_{name} = {most:g}")
