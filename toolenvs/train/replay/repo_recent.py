"""RePO by recency: the newest episodes of a task, which are nearest to the policy of today. See `_repo`."""

from collections.abc import Sequence

import numpy as np

from toolenvs.train.replay import _repo
from toolenvs.train.replay._memory import Episode

Options = _repo.Options


class Strategy(_repo.Strategy):
    """The newest (`recent_k`)."""

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """See `_repo.Strategy`."""
        return cached[-count:]
