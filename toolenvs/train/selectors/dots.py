"""DOTS: the tasks whose success rate is foretold to be nearest to one half, where a group tells the policy most.

Sun et al. 2025, "Improving Data Efficiency for LLM Reinforcement Fine-tuning Through Difficulty-targeted Online Data
Selection and Rollout Replay" (their replay is `replay/dots.py`). Every `interval` steps the policy tries a few random
tasks, the reference set. The success rate d of any task is then foretold from theirs by attention over likeness,

    d = slope * sum_j softmax_j(likeness(task, j) / temperature) * rate_j + intercept

and tasks are drawn without repetition, with p proportional to exp(-|d - target| / tau).

What differs: the paper's likeness is learned on rollouts of other policies; here it is the cosine of `_features`. The
line (slope and intercept) is fitted, as there, so that the reference set is foretold best, but each of its tasks from
the others alone: compared with itself, an unlearned likeness would foretell it by heart. Where the others say
nothing, the slope is 0 and every task equally likely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolenvs.schema import at_least
from toolenvs.tasks.task import TaskSet
from toolenvs.train.selectors import base
from toolenvs.train.selectors._enumerated import enumerate_tasks, places
from toolenvs.train.selectors._features import features
from toolenvs.train.streams import generator

_ROWS = 4096
"""Tasks that are foretold at once."""
_NOISE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Options:
    """Those of the authors' script, apart from `temperature`."""

    reference: int = 256
    """Random tasks that are tried before each choice (`ref_size` 256)."""
    interval: int = 2
    """Rollout batches that each choice lasts for (`mu` 2)."""
    target: float = 0.5
    """Success rate that is looked for (`alpha` 0.5)."""
    tau: float = 1e-3
    """How far from it a task may still be drawn (`tau` 1e-3)."""
    temperature: float = 0.1
    """Of the attention over cosines; the paper's learned one divides by the root of the dimension instead."""

    def __post_init__(self) -> None:
        at_least(2, reference=self.reference)
        at_least(1, interval=self.interval)
        at_least(1e-9, tau=self.tau, temperature=self.temperature)


class Selector(base.Selector):
    """Tries a reference set, foretells the rest, and draws near the target."""

    def __init__(self, tasks: TaskSet, seed: int, options: Options) -> None:
        known = enumerate_tasks(tasks, "dots")
        self._places = places(known)
        self._features = features(known)
        self._seed = seed
        self._options = options
        self._choices = 0
        self._queue: list[int] = []
        self._asked = False
        self._rates: dict[int, float] = {}

    def reference(self, count: int) -> list[int]:
        """A random set, where the last choice is used up."""
        if len(self._queue) >= count:
            return []
        self._asked = True
        size = min(self._options.reference, len(self._places))
        order = generator("dots reference", self._seed, self._choices).permutation(len(self._places))
        return [int(place) for place in order[:size]]

    def observe(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """Keep the rates of the reference set; those of tasks that were chosen would lean towards the target."""
        if self._asked:
            self._asked = False
            self._rates = {self._places[task]: float(np.mean(success)) for task, success in outcomes.items()}

    def take(self, count: int, progress: float) -> list[int]:
        """See `base.Selector`."""
        while len(self._queue) < count:
            self._queue += self._choose(self._options.interval * count)
        taken, self._queue = self._queue[:count], self._queue[count:]
        return taken

    def _choose(self, count: int) -> list[int]:
        rng = generator("dots choice", self._seed, self._choices)
        self._choices += 1
        known = sorted(self._rates)
        logits = np.zeros(len(self._places))
        if len(known) > 1:
            rates = np.array([self._rates[index] for index in known])
            foretold = foretell(self._features, np.array(known), rates, self._options.temperature)
            logits = -np.abs(foretold - self._options.target) / self._options.tau
        self._rates = {}
        return draw(logits, count, rng)

    def state_dict(self) -> dict[str, Any]:
        """What is chosen and not yet taken, and what is known of the reference set."""
        return {"choices": self._choices, "queue": list(self._queue), "rates": dict(self._rates)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See `base.Selector`."""
        self._choices, self._queue, self._rates = state["choices"], list(state["queue"]), dict(state["rates"])


def foretell(
    vectors: NDArray[np.float32], known: NDArray[np.int64], rates: NDArray[np.float64], temperature: float
) -> NDArray[np.float64]:
    """The success rate of every task from those of a few. # [N]

    Args:
        vectors: of every task, of length 1. # [N, D]
        known: which tasks have a rate, at least two. # [R]
        rates: theirs. # [R]
        temperature: of the attention.
    """
    keys = vectors[known]
    attended = np.concatenate(
        [_attention(vectors[row : row + _ROWS] @ keys.T, temperature) @ rates for row in range(0, len(vectors), _ROWS)]
    )
    others = keys @ keys.T
    np.fill_diagonal(others, -np.inf)
    without_itself = _attention(others, temperature) @ rates  # [R]
    centred = without_itself - without_itself.mean()
    spread = float(centred @ centred)
    slope = max(0.0, float(centred @ rates) / spread) if spread > _NOISE else 0.0
    foretold: NDArray[np.float64] = slope * (attended - without_itself.mean()) + rates.mean()
    return foretold


def _attention(likeness: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """Weights over the reference set, from cosines. # [rows, R]"""
    scaled = likeness.astype(np.float64) / temperature
    weights: NDArray[np.float64] = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def draw(logits: NDArray[np.float64], count: int, rng: np.random.Generator) -> list[int]:
    """Indices drawn one after the other with p = softmax(logits), without repetition, as long as there are any left.

    The largest of `logits + Gumbel noise` are such a draw (Kool et al. 2019), and no p underflows. Where more are
    wanted than there are, all of them come again.
    """
    drawn: list[int] = []
    while len(drawn) < count:
        order = np.argsort(-(logits + rng.gumbel(size=len(logits))), kind="stable")
        drawn += order[: count - len(drawn)].tolist()
    return [drawn[place] for place in rng.permutation(len(drawn))]
