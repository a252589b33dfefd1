"""`TokenCodec`: exact text to ids and back, piece by piece, for any fast tokenizer.

A transcript grows in pieces, and each piece is encoded alone. Tokenizers are built for whole texts: some put a space
in front of the first word, some drop it again when decoding, some would read a special token out of a program's
output. The codec encodes and decodes every piece as a continuation, and checks that nothing changed on the way.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from toolenvs.errors import TranscriptError

_ANCHORS = ("\n", "a", ".", "0", " ", "~")  # texts to continue from; the first that a tokenizer keeps apart is used
_KEPT_CHARACTERS = 8192
"""Of a text whose ids are kept for the next who asks."""
_UNKNOWN = "?"


class TokenCodec:
    """Encodes and decodes pieces of a transcript without loss.

    Args:
        tokenizer: a `tokenizers.Tokenizer`, or a fast tokenizer of transformers that wraps one.

    Raises:
        TranscriptError: the tokenizer has no fast backend, or cannot spell even ASCII letters.
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(backend, "encode_special_tokens"):
            raise TranscriptError(f"{type(tokenizer).__name__} is not a fast tokenizer: load it with use_fast=True")
        self.tokenizer = tokenizer
        self._special = self._clone(backend, verbatim=False)
        self._verbatim = self._clone(backend, verbatim=True)
        self.special_texts = tuple(
            sorted(added.content for added in backend.get_added_tokens_decoder().values() if added.special)
        )
        """Text of every special token; a tool's output that holds one is neutralised."""
        self.vocab_size: int = backend.get_vocab_size()
        self._anchor_id = self._find_anchor()
        self._anchor_text: str = self._raw_decode([self._anchor_id])
        self._spell = lru_cache(maxsize=4096)(self._spell_character)
        self._known = lru_cache(maxsize=256)(self._encode)  # a prompt is read by all samples of its group

    @cached_property
    def fingerprint(self) -> str:
        """Equal for tokenizers that read and write the same, chat template included."""
        template = getattr(self.tokenizer, "chat_template", None) or ""
        return hashlib.sha256(f"{self._special.to_str()}\0{template}".encode()).hexdigest()

    @staticmethod
    def _clone(backend: Any, *, verbatim: bool) -> Any:
        clone = type(backend).from_str(backend.to_str())
        clone.no_truncation()
        clone.no_padding()
        clone.encode_special_tokens = verbatim
        return clone

    def _find_anchor(self) -> int:
        for anchor in _ANCHORS:
            for token in reversed(self._verbatim.encode(anchor, add_special_tokens=False).ids):
                if self._raw_decode([token]).strip(" "):
                    return int(token)
        raise TranscriptError(f"the tokenizer spells none of {_ANCHORS}")

    def _raw_decode(self, ids: Sequence[int]) -> str:
        return str(self._special.decode(list(ids), skip_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids` as the continuation of a text, special tokens written out."""
        return self._raw_decode([self._anchor_id, *ids])[len(self._anchor_text) :]

    def encode(self, text: str, *, verbatim: bool = False) -> list[int]:
        """Ids whose `decode` is exactly `text`.

        Args:
            text: the piece.
            verbatim: read no special token out of it (a program's output, a page).

        Raises:
            TranscriptError: the tokenizer cannot spell it; `fit` gives the nearest text that it can.
        """
        if len(text) <= _KEPT_CHARACTERS:
            return list(self._known(text, verbatim))
        return self._encode(text, verbatim)

    def _encode(self, text: str, verbatim: bool) -> list[int]:
        encoder = self._verbatim if verbatim else self._special
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise TranscriptError(f"a lone surrogate has no encoding: {text[:80]!r}")
        ids: list[int] = encoder.encode(text, add_special_tokens=False).ids
        if self.decode(ids) == text:
            return ids
        for anchor in _ANCHORS:
            ids = encoder.encode(anchor + text, add_special_tokens=False).ids
            for length in range(1, min(len(ids), 4) + 1):
                if self._raw_decode(ids[:length]).strip(" ") == anchor.strip(" ") and self.decode(ids[length:]) == text:
                    return ids[length:]
        ids = [token for character in text for token in self._spell(character)]
        if self.decode(ids) == text:
            return ids
        raise TranscriptError(f"the tokenizer cannot spell {text[:80]!r} without loss")

    def fit(self, text: str) -> str:
        """The nearest text that can be encoded without loss: characters that the tokenizer lacks become "?"."""
        try:
            self.encode(text, verbatim=True)
        except TranscriptError:
            fitted = "".join(character if self._spell(character) else _UNKNOWN for character in text)
            return fitted if fitted != text else "".join(c if c.isascii() else _UNKNOWN for c in text)
        return text

    def count(self, text: str, *, verbatim: bool = True) -> int:
        """Number of tokens of `text` as a continuation; `verbatim` as of `encode`."""
        return len(self.encode(self.fit(text), verbatim=verbatim)) if text else 0

    def _spell_character(self, character: str) -> tuple[int, ...]:
        """Ids of one character: as the tokenizer has it, or byte by byte; () where it can do neither."""
        if "\ud800" <= character <= "\udfff":  # a lone surrogate
            return ()
        for text in (character, *(anchor + character for anchor in _ANCHORS)):
            ids = self._verbatim.encode(text, add_special_tokens=False).ids
            for start in range(len(ids)):
                if self.decode(ids[start:]) == character:
                    return tuple(ids[start:])
        for spelling in ("<0x{:02X}>", None):
            tokens = [
                self._verbatim.token_to_id(spelling.format(byte) if spelling else _BYTE_LEVEL[byte])
                for byte in character.encode()
            ]
            if None not in tokens and self.decode(tokens) == character:
                return tuple(tokens)
        return ()


def _byte_level_alphabet() -> dict[int, str]:
    """The printable character that byte-level tokenizers write for each byte (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in printable}
    hidden = (byte for byte in range(256) if byte not in table)
    return table | {byte: chr(256 + rank) for rank, byte in enumerate(hidden)}


_BYTE_LEVEL = _byte_level_alphabet()
