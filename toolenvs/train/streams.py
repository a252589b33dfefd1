"""Random streams of a run, told apart by name: each is fixed by its name, the run's seed and a place in the run.

numpy takes `[seed, step]` and `[seed, step, 0]` for one and the same, so that numbers alone do not keep the order of
the tasks, that of the mini-batches and a selector's draws from being equal wherever they are equally long.
"""

import numpy as np

from toolenvs.tasks.seeding import stable_seed

_SEEDS = 2**32


def generator(name: str, seed: int, *place: int) -> np.random.Generator:
    """What is drawn from.

    Args:
        name: of the stream; no two uses share one.
        seed: of the run.
        place: in it, such as the step; a resumed run comes to the same places.
    """
    return np.random.default_rng(stable_seed(name, seed, *place))


def seed_of(name: str, seed: int, *place: int) -> int:
    """A seed of 32 bits for what draws by itself, such as a rollout; arguments as of `generator`."""
    return stable_seed(name, seed, *place) % _SEEDS
