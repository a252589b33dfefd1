"""The order in which training visits its tasks."""

import numpy as np

from toolenvs.tasks.seeding import stable_seed


def epoch_order(n: int, seed: int, epoch: int) -> list[int]:
    """A permutation of 0 .. n-1, fixed by `seed` and `epoch`.

    Each index gets 64 raw bits of a PCG64 stream, which NumPy keeps stable across versions, and the indices are
    sorted by them. A resumed run asks for the same epoch again and goes on from its position.

    Raises:
        ValueError: `n` is negative.
    """
    if n < 0:
        raise ValueError(f"n is {n}; the number of tasks cannot be negative")
    keys = np.random.PCG64(stable_seed("epoch_order", seed, epoch)).random_raw(n)
    return [int(index) for index in np.argsort(keys, kind="stable")]
