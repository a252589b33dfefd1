"""What every guidance has in common: the rollout behind it, and counts of what was helped."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.train.rollouts.base import Host, Rollout


def refuse_memory(run: Host, name: str) -> None:
    """For guidance that helps every task: `Experience` remembers nothing of what was helped.

    Raises:
        ConfigError: the run has a replay or ReLIFT, which would wait for episodes without help.
    """
    asked = [key for key in ("replay", "relift") if getattr(run.settings, key, None)]
    if asked:
        raise ConfigError(
            f"{' and '.join(asked)}: guidance {name!r} helps with every task here, and what was helped is neither "
            f"remembered nor imitated, so nothing would ever be; leave {' and '.join(asked)} out, or the guidance"
        )


class Guided(Rollout):
    """A rollout in front of another one.

    Args:
        run: whose tasks they are.
        rollout: makes the episodes.
    """

    def __init__(self, run: Host, rollout: Rollout) -> None:
        self._run = run
        self._rollout = rollout
        self._counts: dict[str, tuple[float, int]] = {}

    def count(self, name: str, values: Sequence[float]) -> None:
        """Add to what the metric `name` is the mean of."""
        total, number = self._counts.get(name, (0.0, 0))
        self._counts[name] = total + sum(values), number + len(values)

    def metrics(self) -> dict[str, float]:
        """The mean of all that was counted, by name, and what the rollout has to report."""
        counts, self._counts = self._counts, {}
        means = {name: total / number for name, (total, number) in counts.items() if number}
        return self._rollout.metrics() | means

    def parts(self) -> Mapping[str, Any]:
        """See `Rollout.parts`: help itself follows from the task, the step and the seed."""
        return self._rollout.parts()
