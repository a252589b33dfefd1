"""RePO by variance: the episodes of a task whose returns spread most. See `_repo`."""

from collections.abc import Sequence

import numpy as np

from toolenvs.train.replay import _repo
from toolenvs.train.replay._memory import Episode

Options = _repo.Options


class Strategy(_repo.Strategy):
    """The subset of largest variance, of the larger sum among equals (`max_variance_k`).

    Such a subset holds the lowest and the highest returns and nothing between them, so that only the number of low
    ones is to be found, where the authors go through every subset.
    """

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """See `_repo.Strategy`."""
        ranked = sorted(cached, key=lambda episode: episode.reward)

        def merit(low: int) -> tuple[float, float]:
            returns = np.array([episode.reward for episode in (*ranked[:low], *ranked[len(ranked) - count + low :])])
            return round(float(returns.var()), 9), float(returns.sum())

        low = max(range(count + 1), key=merit)
        return [*ranked[:low], *ranked[len(ranked) - count + low :]]
