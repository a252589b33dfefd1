"""The multiple-choice judge: which option a response chooses.

>>> from toolenvs.rewards import choice
>>> choice.judge(gold="B", response="Answer: B", options=4).correct
True

The order, each step only where the one before finds nothing: the last explicit cue ("Answer: B", "option B", "so B."),
the last box that holds a letter (and its option's text, "B: 42"), a reply that is a letter. Letters are upper case,
except in a reply that is one; a response that names several options hedges, and chooses none.
"""

import re
import unicodedata
from time import perf_counter

from toolenvs.rewards.verdict import Reason, Verdict

MAX_OPTIONS = 26
_WINDOW_CHARACTERS = 20_000
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_LETTER = r"[(\[]?(?P<letter>[A-Z])\b(?:[)\]])?"
_CUE = re.compile(
    r"(?:\b(?i:answer|option|choice)\b(?:\s++(?i:is|was|to be|must be|would be|should be))?\s*+[:=]?\s*+"
    r"(?:(?i:option|choice|letter)\s++)?"
    r"|\b(?i:so|therefore|thus|hence)\b,?\s++(?:(?i:it(?:'s| is))\s++)?(?=\W?[A-Z]\W*+\Z))" + _LETTER
)
_FONT = re.compile(r"\\(?:text[a-z]*+|math(?:rm|bf|sf|it|tt)|mbox)\s*+\{([^{}]*+)\}")
_BOX = re.compile(r"\\boxed\s*+\{([^{}]*+)\}")
_BOXED = re.compile(r"[(\[]?\s*+([A-Z])\s*+(?:[)\].:].*|(?<=\s)[\d(].*|)", re.DOTALL)
_LONE = re.compile(r"(?<![\w'])[A-Z](?![\w'])")
_REPLY = re.compile(r"[(\[]?([A-Za-z])(?:[)\].:][)\].:]?(?:\s[^\n]*)?)?")
_WORD_AFTER = re.compile(r"\s++(?!because\b|since\b|as\b|for\b|and\b|but\b|which\b|is\b)[a-z]")
_DENIED = re.compile(
    r"(?:\b(?i:not|never|neither|eliminate|exclude|discard|reject|rules?\s++out|ruled\s++out)|n't)"
    r"\s++(?:(?i:choose|pick|select|be)\s++)?(?:(?i:the)\s++)?\Z"
)
_FALSE = re.compile(r"[)\]]?\s++(?i:is|was)\s++(?i:wrong|incorrect|false|not|excluded|eliminated|ruled\s++out|out)\b")
_DENIED_CHARACTERS = 40
_DOUBT = r"(?:(?i:option|choice|letter|also|even|maybe|perhaps|possibly)\s++)?"
_ANOTHER = re.compile(
    r"[)\]]?[.?]?\s*+[(\[]?(?:[,/;|&+]|\b(?i:or|and|xor|then|as well as|along with|together with)\b)"
    r"\s*+(?:\bor\b|\band\b)?\s*+" + _DOUBT + r"[(\[]?([A-Z])\b(?![a-z'])"
    r"|[)\]]?(?:\.?\s++|-)[(\[]?([A-Z])\b(?=[^\w\n]*+(?:\n|\Z)|[\s,;/]++[(\[]?[A-Z]\b)"  # nothing between but space
)


def extract(response: str, options: int) -> str | None:
    """The letter that a response chooses among the first `options`; None where it chooses none, or several."""
    text = unicodedata.normalize("NFKC", _THOUGHT.sub("", response)[-_WINDOW_CHARACTERS:])
    text = re.sub(r"[*_`$]+", "", text)[-_WINDOW_CHARACTERS:].strip()
    text = _FONT.sub(r"\1", _FONT.sub(r"\1", text))
    allowed = {chr(ord("A") + index) for index in range(options)}
    cues = [cue for cue in _CUE.finditer(text) if cue["letter"] in allowed and not _is_none(text, cue)]
    if cues:
        return None if _names_another(text, cues[-1].end("letter"), allowed) else cues[-1]["letter"]
    boxes = [letter for box in _BOX.finditer(text) if (letter := _boxed(box[1].strip(), allowed))]
    if boxes:
        return boxes[-1]
    reply = _REPLY.fullmatch(text)
    if reply is None or reply[1].upper() not in allowed or _names_another(text, reply.end(1), allowed):
        return None
    return reply[1].upper()


def _boxed(content: str, allowed: set[str]) -> str | None:
    """The letter that a box holds, alone or with its option's text behind it, and with no other letter."""
    found = _BOXED.fullmatch(content)
    letters = {letter for letter in _LONE.findall(content) if letter in allowed}
    return found[1] if found and letters == {found[1]} else None


def _is_none(text: str, cue: re.Match[str]) -> bool:
    """Whether a cue chooses nothing: its letter is a word, or it is said to be wrong."""
    before = text[max(0, cue.start() - _DENIED_CHARACTERS) : cue.start()]
    return _is_a_word(text, cue) or bool(_FALSE.match(text, cue.end("letter")) or _DENIED.search(before))


def _is_a_word(text: str, cue: re.Match[str]) -> bool:
    """The article "A" or the pronoun "I" in front of a word."""
    return cue["letter"] in "AI" and bool(_WORD_AFTER.match(text, cue.end()))


def _names_another(text: str, at: int, allowed: set[str]) -> bool:
    another = _ANOTHER.match(text, at)
    return another is not None and (another[1] or another[2]) in allowed


def judge(*, gold: str, response: str, options: int) -> Verdict:
    """Whether a response chooses the option `gold`.

    Args:
        gold: the letter of the right option.
        response: what the policy wrote.
        options: how many options the question has, "A" being the first; at most `MAX_OPTIONS`.

    Raises:
        ValueError: `options` is out of range.
    """
    start = perf_counter()
    if not 1 <= options <= MAX_OPTIONS:
        raise ValueError(f"options = {options}: a question has 1 to {MAX_OPTIONS}")
    gold = gold.strip().upper()
    if len(gold) != 1 or not 0 <= ord(gold) - ord("A") < options:
        return Verdict(False, Reason.JUDGE_ERROR)
    chosen = extract(response, options)
    reason = Reason.NO_ANSWER if chosen is None else Reason.MATCH if chosen == gold else Reason.MISMATCH
    return Verdict(reason is Reason.MATCH, reason, chosen, perf_counter() - start)
