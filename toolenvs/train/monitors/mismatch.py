"""Engine and trainer give the same tokens unlike log-probabilities, so that training is off-policy without a word.

See toolenvs/train/mismatch.py for the figures; replayed episodes, which an earlier policy sampled, and those whose hint
was taken out of the prompt are not among them. Yao et al. 2025 ("Your efficient RL framework secretly brings you
off-policy training") found it between vLLM and FSDP, and runs that collapsed of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.train.monitors._series import lately, series

_METRICS = ("rollout_mismatch", "engine_mismatch")


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    most: float = 0.05
    """Mean difference in nats a token above which it warns: what a push may show in 16 bits, see engines/sync.py."""
    window: int = 3
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        for name in _METRICS:
            now = lately(series(lines, name), self.options.window)
            if now is not None and now > self.options.most:
                return (
                    f"The engine's log-probabilities differ from the trainer's by {now:.3g} nats a token ({name}): try "
                    "the same dtype on both sides, recompute_logprobs = true with correction = 'token-cap', or another "
                    "attention kernel of the engine."
                )
        return None
