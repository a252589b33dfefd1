"""Waits between tries that are not the same for all who wait, so that they do not come back all at once."""

import random

_OWN = random.Random()  # not the process's own numbers, which its user may have seeded


def jittered(wait_s: float) -> float:
    """Something between half of a wait and all of it, in seconds."""
    return wait_s * _OWN.uniform(0.5, 1.0)
