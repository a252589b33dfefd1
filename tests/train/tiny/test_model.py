import random

import torch
from transformers import AutoModelForCausalLM

from toolenvs.train.tiny.base import copy_text, train_base
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import MARKERS


def test_the_seed_decides_the_weights_and_nothing_else(tokenizer):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, again, other = (build_model(tokenizer, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert any(not torch.equal(value, other[name]) for name, value in first.items())


def test_the_policy_is_tiny_and_its_embeddings_are_tied(tokenizer):
    model = build_model(tokenizer, seed=0)
    assert 0.3e6 < sum(parameter.numel() for parameter in model.parameters()) < 0.33e6
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight


def test_base_texts_hold_no_marker_and_train_only_the_repetition(tokenizer):
    rng = random.Random(0)
    for _ in range(200):
        sequence = copy_text(tokenizer, rng)
        given, repeated = (sequence.ids[sequence.mask == author] for author in (0, 1))
        line, again = tokenizer.decode(given), tokenizer.decode(repeated)
        assert again.removesuffix(tokenizer.eos_token) in (line, line.replace(" ", ""))
        assert not any(marker in line for marker in MARKERS)


def test_the_base_phase_learns_and_writes_a_folder_that_loads(tokenizer, tmp_path):
    losses = []
    train_base(tmp_path, steps=12, progress=lambda step, loss: losses.append(loss))
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert losses[-1] < losses[0] - 0.5
    assert loaded.config.model_type == "qwen3"
    assert (tmp_path / "tokenizer.json").exists()
