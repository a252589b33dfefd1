"""The words and syllables of the fictional world's language, for a tokenizer that reads its passages in few tokens.

Several worlds share their sentences and none of their names: what occurs in all of them is a word of the language, and
what is left are names, which are cut into syllables. No world of these seeds is trained or tested on.
"""

import re
from collections import Counter
from functools import cache

from toolenvs.tasks.seeding import Draws
from toolenvs.world import World

WORLDS = range(1001, 1005)
"""Seeds of the worlds that are read."""
PASSAGES = 1_000
QUESTIONS = 600
MIN_COUNT = 4
"""How often a word must occur in each world, and a syllable in all of them."""
SYLLABLE = r"[B-DF-HJ-NP-TV-Z]?[b-df-hj-np-tv-xz]*(?:[aeiou]+|y)(?:[b-df-hj-np-tv-xz]+(?![A-Za-z]))?"
"""Consonants and vowels, and the consonants that end the word; y is a vowel by itself."""
_WORD = re.compile(r"[A-Za-z]+")


@cache
def vocabulary() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words and syllables, each sorted."""
    counts = [Counter(word for text in _texts(seed) for word in _WORD.findall(text)) for seed in WORLDS]
    words = {word for word in counts[0] if all(count[word] >= MIN_COUNT for count in counts)}
    syllables: Counter[str] = Counter()
    for count in counts:
        for word, times in count.items():
            if word not in words:
                for syllable in re.findall(SYLLABLE, word):
                    syllables[syllable] += times
    return tuple(sorted(words)), tuple(sorted(s for s, times in syllables.items() if times >= MIN_COUNT))


def _texts(seed: int) -> list[str]:
    world = World(PASSAGES, seed=seed)
    questions = [world.question(Draws("language", number), hops=1 + number % 2).text for number in range(QUESTIONS)]
    return [*questions, *(f"Doc 1(Title: {passage.title}) {passage.text}" for passage in world.passages())]
