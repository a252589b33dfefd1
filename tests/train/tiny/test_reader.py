"""The policy that reads: its tokenizer, its texts, its base phase."""

import itertools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from toolenvs.tokens import Mask
from toolenvs.train.tiny import base, language
from toolenvs.train.tiny.reader import build_reader, build_reader_tokenizer, reading_batches, reading_text
from toolenvs.train.tiny.tokenizer import MARKERS
from toolenvs.world import World


@pytest.fixture(scope="module")
def reader_tokenizer():
    return build_reader_tokenizer()


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"(<search>|12|Zhae| the|the|\s|[a-zA-Z])*"))
def test_every_text_round_trips(reader_tokenizer, text):
    ids = reader_tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert reader_tokenizer.decode(ids) == text
    assert max(ids, default=0) < len(reader_tokenizer)


def test_words_are_of_the_language_and_no_names():
    words = set(language.vocabulary()[0])
    for seed in (0, 1):
        world = World(1000, seed=seed)
        names = {part for key in world.keys() for part in re.findall(r"[A-Za-z]+", world.name(key))}  # noqa: SIM118
        assert {word for word in names & words if not re.match("The|of|[A-Z][a-z]+", word)} == set()
        places = {world.name(key) for key in world.keys() if key.kind in ("place", "country")}  # noqa: SIM118
        assert places & words == set()
    assert {"mayor", "founded", "Who", "Title"} <= words


def test_a_name_is_split_alike_wherever_it_stands(reader_tokenizer):
    world = World(200, seed=5)
    for key in world.keys():  # noqa: SIM118
        name = reader_tokenizer.encode(" " + world.name(key))
        for text in (f"Who is {world.name(key)}?", f"Title: {world.name(key)}) It", f"of {world.name(key)}, which"):
            ids = reader_tokenizer.encode(text)
            assert any(ids[start : start + len(name)] == name for start in range(len(ids)))
        assert len(name) <= 12


def test_passages_take_few_tokens(reader_tokenizer, tokenizer):
    passages = [passage.text for passage in itertools.islice(World(200, seed=5).passages(), 200)]
    read, general = (sum(len(each.encode(text)) for text in passages) for each in (reader_tokenizer, tokenizer))
    assert read < 0.6 * general


def test_texts_hold_no_marker_no_tested_name_and_train_answers_that_stand_before_them(reader_tokenizer):
    rng = random.Random(0)
    tested = {world.name(key) for world in (World(1000), World(1000, seed=1)) for key in world.keys()}  # noqa: SIM118
    for _ in range(300):
        sequence = reading_text(reader_tokenizer, rng)
        text = reader_tokenizer.decode(sequence.ids)
        assert not any(marker in text for marker in MARKERS)
        assert not {name for name in tested if " " in name and name in text}
        answers = reader_tokenizer.decode(sequence.ids[sequence.mask == Mask.POLICY]).removesuffix(
            reader_tokenizer.eos_token
        )
        assert answers
        for answer in answers.splitlines():
            assert text.index(answer) < text.index(f"\n{answer}\n")


def test_batches_are_of_like_lengths(reader_tokenizer):
    batches = list(itertools.islice(reading_batches(reader_tokenizer, random.Random(0), 16), 8))
    assert [len(batch) for batch in batches] == [16] * 8
    lengths = [[len(text.ids) for text in batch] for batch in batches]
    assert sum(map(sum, lengths)) > 0.8 * sum(16 * max(batch) for batch in lengths)


def test_its_base_phase_learns_and_writes_a_folder_that_loads(tmp_path):
    losses = []
    base.train_base(tmp_path, kind="tiny-reader", steps=6, progress=lambda step, loss: losses.append(loss))
    assert losses[-1] < losses[0] - 0.3
    assert AutoModelForCausalLM.from_pretrained(tmp_path).config.hidden_size == 128


def test_it_is_small(reader_tokenizer):
    assert 0.5e6 < sum(parameter.numel() for parameter in build_reader(reader_tokenizer, 0).parameters()) < 0.7e6
    assert base.fingerprint("tiny-reader") != base.fingerprint()
