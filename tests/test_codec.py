"""Every piece of a transcript survives the way to ids and back, whatever the tokenizer."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolenvs.codec import TokenCodec
from toolenvs.errors import TranscriptError

_PARTS = ["</code>", "<code>", "\n", " ", "  ", "<interpreter>", "7", "the", "é", "e\u0301", "<|im_end|>"]
pieces = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.sampled_from(_PARTS), max_size=8).map("".join),
)


@given(piece=pieces)
@example(piece=" 4")
@example(piece="\n<interpreter>\n")
@example(piece="<|im_start|>tool")
@example(piece="<unk><0x41>")
def test_a_piece_comes_back_exactly(codec: TokenCodec, piece: str) -> None:
    piece = codec.fit(piece)
    assert codec.decode(codec.encode(piece, verbatim=True)) == piece
    assert codec.decode(codec.encode(piece)) == piece


@given(text=pieces)
def test_what_the_tokenizer_can_spell_is_not_changed(byte_codec: TokenCodec, text: str) -> None:
    assert byte_codec.fit(text) == text


def test_verbatim_text_never_becomes_a_special_token(codec: TokenCodec) -> None:
    special = codec.encode("<|im_end|>")
    assert len(special) == 1
    assert special[0] not in codec.encode("<|im_end|>", verbatim=True)
    assert codec.special_texts == ("<|endoftext|>", "<|im_end|>", "<|im_start|>")


def test_lone_surrogates_are_fitted(codec: TokenCodec) -> None:
    assert codec.fit("a\ud800b") == "a?b"


def test_count(codec: TokenCodec) -> None:
    assert codec.count("") == 0
    assert codec.count("4 apples") == len(codec.encode("4 apples", verbatim=True)) > 0
    turn = "<|im_end|>\n<|im_start|>user\n"
    assert codec.count(turn, verbatim=False) == len(codec.encode(turn)) != codec.count(turn)


def test_a_slow_tokenizer_is_refused() -> None:
    with pytest.raises(TranscriptError, match="not a fast tokenizer"):
        TokenCodec(object())
