"""RePO by reward: the best episodes of a task, as in the authors' script. See `_repo`.

Where all of those are equally good, as when they are all right, they teach nothing but their differences in shaping.
"""

from collections.abc import Sequence

import numpy as np

from toolenvs.train.replay import _repo
from toolenvs.train.replay._memory import Episode

Options = _repo.Options


class Strategy(_repo.Strategy):
    """Those of highest return, the oldest first among equals (`highest_k`)."""

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """See `_repo.Strategy`."""
        return sorted(cached, key=lambda episode: -episode.reward)[:count]
