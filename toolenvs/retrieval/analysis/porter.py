"""The stemmer of M. F. Porter, An algorithm for suffix stripping (1980), with the three changes of his own program.

Those are -bli to -ble, -logi to -log, and that words of one or two letters stay as they are.
"""

import re

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def _longest_first(suffixes: "dict[str, str] | tuple[str, ...]") -> "re.Pattern[str]":
    return re.compile(f"(?:{'|'.join(sorted(suffixes, key=len, reverse=True))})$")


_ENDS_2, _ENDS_3, _ENDS_4 = _longest_first(_STEP_2), _longest_first(_STEP_3), _longest_first(_STEP_4)
_ANY_2, _ANY_3 = tuple(_STEP_2), tuple(_STEP_3)  # asked first, as most words end in none of them
_LAST_LETTERS = frozenset("cdegilmnrstuy")
"""Of all endings: a word that ends otherwise is its own stem."""
_SHAPES = str.maketrans({chr(point): "v" if chr(point) in "aeiou" else "c" for point in range(128)})


def stem(word: str) -> str:
    """The stem of a word in lower case. A character that is no English vowel counts as a consonant."""
    if len(word) < 3 and len(word.encode("utf-16-le", "surrogatepass")) < 6:  # as Java counts
        return word
    if word[-1] not in _LAST_LETTERS:
        return word
    if word[-1] == "s":  # step 1a
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word[-2] != "s":
            word = word[:-1]
    word = _step_1b(word)
    if word[-1] == "y" and _has_vowel(word[:-1]):  # step 1c
        word = word[:-1] + "i"
    if word.endswith(_ANY_2) and (found := _ENDS_2.search(word)):
        word = _replaced(word, found, _STEP_2)
    if word.endswith(_ANY_3) and (found := _ENDS_3.search(word)):
        word = _replaced(word, found, _STEP_3)
    found = _ENDS_4.search(word) if word.endswith(_STEP_4) else None
    if found and (found[0] != "ion" or word[: -len("ion")].endswith(("s", "t"))):
        kept = word[: found.start()]
        if _measure(kept) > 1:
            word = kept
    if word[-1] == "e":  # step 5
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    kept = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if not kept or not _has_vowel(kept):
        return word
    if kept.endswith(("at", "bl", "iz")):
        return kept + "e"
    if len(kept) > 1 and kept[-1] == kept[-2] and not _vowel_at_end(kept):
        return kept if kept[-1] in "lsz" else kept[:-1]
    return kept + "e" if _measure(kept) == 1 and _ends_short(kept) else kept


def _replaced(word: str, found: "re.Match[str]", endings: dict[str, str]) -> str:
    kept = word[: found.start()]
    return kept + endings[found[0]] if _measure(kept) > 0 else word


def _shape(word: str) -> str:
    """`word` with v for each vowel and c for each consonant; a y is a vowel after a consonant."""
    if word.isascii() and "y" not in word:
        return word.translate(_SHAPES)
    shape, vowel = [], True
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and not vowel)
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _vowel_at_end(word: str) -> bool:
    return _shape(word)[-1] == "v"


def _ends_short(word: str) -> bool:
    """Ends as consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"
