"""RePO at random: any episodes of a task. See `_repo`."""

from collections.abc import Sequence

import numpy as np

from toolenvs.train.replay import _repo
from toolenvs.train.replay._memory import Episode

Options = _repo.Options


class Strategy(_repo.Strategy):
    """Uniformly, none twice (`random_k`)."""

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """See `_repo.Strategy`."""
        return [cached[place] for place in rng.permutation(len(cached))[:count]]
