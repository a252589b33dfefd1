import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from toolenvs.train.tiny.tokenizer import EOS, MARKERS


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"(<code>|12|ba|print|\s|`{3}|[a-z<>/{}])*"))
def test_every_text_round_trips(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert tokenizer.decode(ids) == text
    assert max(ids, default=0) < len(tokenizer)


@pytest.mark.parametrize("marker", MARKERS)
def test_each_marker_is_one_token_wherever_it_stands(tokenizer, marker):
    (token,) = tokenizer.encode(marker, add_special_tokens=False)
    assert token in tokenizer.encode(f"ba{marker}12", add_special_tokens=False)
    assert tokenizer.decode([token]) == marker


def test_a_tool_transcript_is_split_into_the_pieces_that_carry_meaning(tokenizer):
    text = "<code>\n```python\nprint((34+57)*83)\n```\n</code>\n<interpreter>\n7553\n</interpreter>\n\n\\boxed{7553}"
    pieces = [tokenizer.decode([token]) for token in tokenizer.encode(text, add_special_tokens=False)]
    assert pieces[:14] == ["<code>", "\n", "```python", "\n", "print", "(", "(", "34", "+", "57", ")", "*", "83", ")"]
    assert pieces[-4:] == ["\\boxed{", "75", "53", "}"]


def test_no_special_token_is_read_from_a_program_s_output(tokenizer):
    read = tokenizer.encode(EOS, add_special_tokens=False, split_special_tokens=True)
    assert tokenizer.eos_token_id not in read
    assert tokenizer.decode(read) == EOS


def test_a_saved_tokenizer_is_the_same(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "print(12345) <answer> ü\n"
    assert loaded.encode(text) == tokenizer.encode(text)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert loaded.eos_token_id == tokenizer.eos_token_id
    assert 350 <= len(loaded) <= 450
