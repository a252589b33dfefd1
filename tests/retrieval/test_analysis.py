"""Terms are Lucene's."""

import time
from collections import Counter
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


ALPHABET = "abzAZ019_:.,;'\"- \n\x00#*sS\x7f\xa0é’ـ中ก👍\u0301\u200d"


def counted(words: list[str]) -> Counter[str]:
    return Counter(term for word in words if (term := analysis.term_of(word)))


def divided(texts: list[str]) -> list[list[str]]:
    simple, others = analysis.divide(texts)
    lines = simple.decode("ascii").split("\n")
    assert len(lines) == max(1, len(texts))
    return [line.split() + others.get(number, []) for number, line in enumerate(lines)]


@given(st.lists(st.text(ALPHABET, max_size=60), max_size=8))
def test_many_texts_at_once_have_the_terms_of_each(texts: list[str]) -> None:
    for text, words in zip(texts or [""], divided(texts), strict=True):
        assert counted(words) == counted(boundaries.words(text))


def test_the_terms_that_lucene_recorded_are_found_in_bulk(recorded: dict[str, Any]) -> None:
    texts = list(recorded["terms"])
    for text, words in zip(texts, divided(texts), strict=True):
        assert counted(words) == Counter(recorded["terms"][text]), text


@pytest.mark.parametrize("size", [254, 255, 256, 257, 300, 600])
@pytest.mark.parametrize("before", range(0, 129, 16))
def test_a_long_word_is_cut_in_bulk_wherever_it_stands(size: int, before: int) -> None:
    texts = ["plain text", "b " * before + "a" * size + ".a é", "1.5"]
    for text, words in zip(texts, divided(texts), strict=True):
        assert counted(words) == counted(boundaries.words(text))


@pytest.mark.parametrize(
    "unit", ["_", "_\u0301", "a", "é", "é_", "1.2.", "_漢", "漢\u0301___", "\u0301_", "😀\u200d", "a'", "＿"]
)
@pytest.mark.parametrize("end", ["", "b", "é", " "])
def test_words_are_found_in_time_that_grows_with_the_text_and_no_faster(unit: str, end: str) -> None:
    def cpu_s(count: int) -> float:
        started_s = time.process_time()
        boundaries.words("x " + unit * count + end)
        return time.process_time() - started_s

    least = 15_000 // len(unit)
    small, large = (min(cpu_s(count) for _ in range(2)) for count in (least, 4 * least))
    assert large < 8 * small + 0.05


@given(st.lists(st.sampled_from(["_", "__", "_" * 300, "a", "1.", "é", "\u0301", "x" * 260, " ", "漢"]), max_size=8))
def test_joins_alone_are_no_words_and_nothing_else_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    words = boundaries.words(text)
    assert all(word.strip("_\u0301") for word in words)
    kept = "".join(words)
    assert [kept.count(letter) for letter in "a1éx漢"] == [text.count(letter) for letter in "a1éx漢"]


def test_a_word_of_underscores_alone_is_no_term() -> None:
    assert analysis.term_of("__") == ""
    assert analysis.term_of("_a_") == "_a_"


@given(st.text("abcdefghijklmnopqrstuvwxyz", max_size=15))
def test_a_stem_is_no_longer_than_its_word_and_one_letter(word: str) -> None:
    stem = porter.stem(word)
    assert len(stem) <= len(word) + 1
    assert stem[:2] == word[:2] or len(word) < 4
