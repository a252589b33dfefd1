"""Text to the terms of an index, as the analyzer of Anserini and pyserini does it for English.

Words, less a possessive 's, in lower case, less 33 stop words, stemmed by Porter's algorithm.
"""

from toolenvs.retrieval.analysis.boundaries import words
from toolenvs.retrieval.analysis.bulk import divide
from toolenvs.retrieval.analysis.porter import stem

__all__ = ["STOP_WORDS", "Terms", "divide", "term_of", "terms", "words"]

_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
_APOSTROPHES = ("'", "’", "＇")
_CACHED_WORDS = 1_000_000


def term_of(word: str) -> str:
    """The term that `word` is indexed under; "" for a stop word, and for one of nothing but "_"."""
    if len(word) > 1 and word[-1] in "sS" and word[-2] in _APOSTROPHES:
        word = word[:-2]
    if not word.isascii():  # one character for each, whatever stands beside it
        word = word.replace("İ", "i").replace("Σ", "σ")
    word = word.lower()
    return "" if word in STOP_WORDS or (word[:1] in ("", "_") and not word.strip("_")) else stem(word)


class Terms(dict[str, str]):
    """`term_of`, remembered for each word."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        term = self[word] = term_of(word)
        return term


_terms = Terms()


def terms(text: str) -> list[str]:
    """The terms of `text` in order, with repetitions."""
    return [term for term in map(_terms.__getitem__, words(text)) if term]
