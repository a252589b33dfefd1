"""Whether a gold answer can be judged against at all."""

from functools import lru_cache

from .algebra.budget import MAX_GOLD_CHARACTERS
from .algebra.tidy import tidy


@lru_cache(maxsize=4096)
def unusable(gold: str) -> str | None:
    """Why nothing can be judged against this gold answer, or None."""
    if not gold.strip() or (len(gold) <= MAX_GOLD_CHARACTERS and not tidy(gold)):
        return "it is empty"
    return None
