"""Terms are Lucene's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.retrieval import analysis
from toolenvs.retrieval.analysis import boundaries, porter


def test_terms_are_those_that_lucene_recorded(recorded: dict[str, Any]) -> None:
    assert len(recorded["terms"]) > 90
    for text, expected in recorded["terms"].items():
        assert analysis.terms(text) == expected, text


@given(st.text("abzAZ019_:.,;'\"- \n\x00#*sS", max_size=60))
def test_both_ways_to_divide_ascii_agree(text: str) -> None:
    # text beyond ASCII goes through the table of classes, whole or in stretches; letters at its end send it there
    assert boundaries.words(text + " é") == [*boundaries.words(text), "é"]
    assert boundaries.words(text + " é" * 60) == [*boundaries.words(text), *"é" * 60]


@given(st.text(max_size=200))
def test_any_text_is_divided_into_parts_of_it(text: str) -> None:
    at = 0
    for word in boundaries.words(text):
        at = text.index(word, at) + len(word)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "x" * 100_000, "_" * 5_000, "a." * 50_000, "'" * 10_000])
def test_odd_texts_are_taken(text: str) -> None:
    assert all(len(word) <= boundaries.MAX_LENGTH for word in boundaries.words(text))


def test_a_long_word_is_cut_where_lucene_cuts_it() -> None:
    assert boundaries.words("a" * 300 + ".b") == ["a" * 255, "a" * 45 + ".b"]


@given(st.text("abcdefghijklmnopqrstuvwxyz", max_size=15))
def test_a_stem_is_no_longer_than_its_word_and_one_letter(word: str) -> None:
    stem = porter.stem(word)
    assert len(stem) <= len(word) + 1
    assert stem[:2] == word[:2] or len(word) < 4
