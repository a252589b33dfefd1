"""The tiny policy's tokenizer: protocol markers, two-digit numbers and syllables whole, everything else as bytes.

A pre-tokenizer splits text at the listed pieces, and a byte-level BPE without merges looks each part up: a part that
is in the vocabulary is one token, any other falls apart into its bytes. So every text round-trips, tokens can be
decoded one after another, and no context changes how a text is split.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolenvs.errors import MissingExtraError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

EOS = "<|endoftext|>"
PAD = "<|padding|>"
MARKERS = (
    *(
        f"<{slash}{tag}>"
        for tag in ("think", "code", "interpreter", "search", "information", "sql", "result", "tool_call", "answer")
        for slash in ("", "/")
    ),
    "```python",
    "```",
    "\\boxed{",
)
WORDS = ("print", "Error", "SELECT", "FROM", "WHERE", "COUNT")
SYLLABLES = tuple(consonant + vowel for consonant in "bdklmnrs" for vowel in "aeiou")
_NUMBER = r"[0-9]{2}"
_SPACE = "\u0120"
"""The character that stands for a space in a byte-level vocabulary."""


def byte_characters() -> list[str]:
    """The character that stands for each byte in a byte-level vocabulary, at the byte's index (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    table = {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}
    return [table[byte] for byte in range(0x100)]


def build_tokenizer(
    words: Sequence[str] = (), syllables: Sequence[str] = SYLLABLES, *, syllable: str = ""
) -> "PreTrainedTokenizerFast":
    """The tokenizer; the same arguments give the same ids.

    Args:
        words: further words that are whole wherever they stand by themselves. With them a space belongs to the word,
            the capitalised name or the number behind it, which then is another token than without.
        syllables: tokens of other words.
        syllable: a regular expression that divides those words; "" for at the syllables themselves.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    try:
        from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise MissingExtraError("transformers", "train", "the tiny policy's tokenizer") from error

    numbers = tuple(f"{number:02d}" for number in range(100))
    begin = (*words, *numbers, *(piece for piece in syllables if not piece.islower())) if words else ()
    spaced = (f"{_SPACE}{piece}" for piece in begin)
    pieces = (*MARKERS, *WORDS, *numbers, *syllables, *words, *spaced)
    vocabulary: dict[str, int] = {}
    for token in (EOS, PAD, *byte_characters(), *pieces):
        vocabulary.setdefault(token, len(vocabulary))
    # Longest first, so that "```python" is not read as "```" and a rest.
    fixed = (*MARKERS, *WORDS, *(() if syllable else syllables))
    alternatives = [re.escape(piece) for piece in sorted(fixed, key=len, reverse=True)]
    if words:
        whole = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        alternatives.append(f"(?: |(?<![A-Za-z]))(?:{whole})(?![A-Za-z])")
    alternatives += [f"(?: (?=[A-Z]))?{syllable}"] if syllable else []
    alternatives.append(f" ?{_NUMBER}" if words else _NUMBER)

    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(alternatives)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special: dict[str, Any] = {
        name: AddedToken(token, normalized=False, special=True)
        for name, token in {"eos_token": EOS, "pad_token": PAD}.items()
    }
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **special
    )
