"""Pushes that are compared: an engine that answers by other weights than the trainer's is found out."""

import copy

import pytest
import torch

from toolenvs.agents.engine import Engine, Generation
from toolenvs.errors import EngineError
from toolenvs.train.engines.sync import agreement, logprobs_of, push
from toolenvs.train.engines.transformers import TransformersEngine


@pytest.fixture
def engine(trainer, tokenizer):
    """Samples from its own copy."""
    return TransformersEngine(copy.deepcopy(trainer), tokenizer)


def test_a_push_is_compared_and_told(engine, trainer, disturb):
    assert agreement(engine, trainer).mean < 1e-4
    disturb(trainer)
    assert agreement(engine, trainer).mean > 1e-2
    told = push(engine, trainer, 3)
    assert engine.version == 3
    assert told.keys() == {"push_s", "engine_mismatch", "engine_mismatch_max"}
    assert told["engine_mismatch"] <= told["engine_mismatch_max"] < 1e-3


@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_like_is_compared_with_like_at_any_temperature(engine, trainer, temperature):
    assert agreement(engine, trainer, temperature=temperature).max < 1e-3


def test_an_engine_that_keeps_old_weights_is_found_out(engine, trainer, disturb, monkeypatch):
    monkeypatch.setattr(TransformersEngine, "push_weights", lambda self, state_dict, version: None)
    push(engine, trainer, 1)
    disturb(trainer)
    with pytest.raises(EngineError, match="version 2 the engine and the trainer disagree"):
        push(engine, trainer, 2)
    assert push(engine, trainer, 2, tolerance=10)["engine_mismatch"] > 1e-2


def test_numbers_that_are_none_do_not_pass(trainer):
    class Broken(Engine):
        def generate(self, requests):
            return [Generation(ids=[3], logprobs=[float("nan")], finish="length") for _ in requests]

        def push_weights(self, state_dict, version): ...

    with pytest.raises(EngineError, match="disagree"):
        push(Broken(), trainer, 1)


def test_an_engine_on_the_model_itself_is_not_compared(trainer, tokenizer):
    shared = TransformersEngine(trainer, tokenizer)
    assert push(shared, trainer, 5) == {}
    assert shared.version == 5


def test_a_model_s_mode_is_kept(trainer):
    trainer.train()
    (first,) = logprobs_of(trainer, [5, 6], [7])
    assert trainer.training
    logits = trainer(input_ids=torch.tensor([[5, 6]])).logits[0, -1].detach()
    assert first == pytest.approx(float(torch.log_softmax(logits, -1)[7]), abs=1e-5)
