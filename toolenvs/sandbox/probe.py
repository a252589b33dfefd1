"""Which tiers of isolation work on this machine, and what each leaves open."""

from typing import NamedTuple

_KERNEL = "flaws of the host's kernel (use a container runtime with its own kernel, or a virtual machine)"
_FORGING = "a program may lie about its own output and later runs of its own session"


class Tier(NamedTuple):
    """One tier of isolation."""

    tier: str
    works: bool
    detail: str
    does_not_cover: str


_OPEN = {
    "hardened": f"{_KERNEL}; {_FORGING}; disk bandwidth, and the processors' caches, which cells share with the host",
    "namespace": (
        f"{_KERNEL}; {_FORGING}; CPU, which a cell may take as much of as the machine has; all cells run as one user "
        "(each in a user namespace of its own); memory is bounded for each process, which is all that a cell may have"
    ),
    "fork": (
        f"{_KERNEL}; {_FORGING}; names, sizes and times of the host's files can be asked for, their content cannot be "
        "read; CPU; no private folder to write to; without root, threads are bounded per user, not per program"
    ),
}


def probe() -> list[Tier]:
    """Try every tier of the local backend, the strongest first; takes about 0.3 s."""
    from toolenvs.errors import IsolationError, SandboxError
    from toolenvs.sandbox.base import TIERS
    from toolenvs.sandbox.local import LocalBox

    tiers = []
    for tier in reversed(TIERS):
        try:
            with LocalBox(tier=tier) as box:
                answer = box.run("print(6 * 7)")
            works, detail = answer.stdout == "42\n", f"answers in {answer.seconds * 1000:.1f} ms"
        except (IsolationError, SandboxError) as error:
            works, detail = False, str(error)
        tiers.append(Tier(tier, works, detail, _OPEN[tier]))
    return tiers
