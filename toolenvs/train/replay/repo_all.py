"""RePO, full scope: every episode that a task's queue holds. See `_repo`."""

from collections.abc import Sequence

import numpy as np

from toolenvs.train.replay import _repo
from toolenvs.train.replay._memory import Episode

Options = _repo.Options


class Strategy(_repo.Strategy):
    """All, however many `replays` says (`all`)."""

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """See `_repo.Strategy`."""
        return cached
