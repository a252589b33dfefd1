"""The tokens that end a text, the same for every engine."""

from typing import Any


def end_tokens(config: Any, generation_config: Any = None) -> frozenset[int]:
    """Ids after which nothing is sampled: those of the generation configuration, else those of the model's.

    Args:
        config: a model configuration of transformers.
        generation_config: its generation configuration; None where it has none.
    """
    ends = getattr(generation_config, "eos_token_id", None)
    if ends is None:
        ends = getattr(config, "eos_token_id", None)
    return frozenset([ends] if isinstance(ends, int) else ends or ())
