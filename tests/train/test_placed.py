"""A policy in its two places: one network, or a copy that samples in a short type."""

import pytest
import torch

from toolenvs.train import lora
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.placed import PlacedPolicy
from toolenvs.train.policy import load_policy


def moved(policy):
    """The trained weights, after each was moved by less than bfloat16 tells apart."""
    with torch.no_grad():
        for parameter in policy.model.parameters():
            if parameter.requires_grad:
                parameter.add_(1e-4)
    return {name: value.clone() for name, value in policy.model.state_dict().items()}


def test_one_process_in_an_ordinary_type_has_one_network(model):
    policy = PlacedPolicy(model, ForwardSettings(), torch.float32, sampled_here=True)
    assert policy.model is policy.sampled is policy.refresh() is model


@pytest.mark.parametrize("saved", [torch.float32, torch.bfloat16])
def test_what_samples_in_a_short_type_is_a_copy_and_what_is_saved_is_not(model, tokenizer, tmp_path, saved):
    policy = PlacedPolicy(model.to(saved), ForwardSettings(dtype="bfloat16"), saved, sampled_here=True)
    weights = moved(policy)
    assert {value.dtype for value in weights.values()} == {torch.float32}
    before = {name: value.clone() for name, value in policy.sampled.state_dict().items()}
    newest = policy.refresh().state_dict()
    assert any(not torch.equal(before[name], value) for name, value in newest.items())
    assert all(torch.equal(value, weights[name].bfloat16()) for name, value in newest.items())
    policy.save(tmp_path / "model", tokenizer)
    loaded, _ = load_policy(str(tmp_path / "model"))
    assert all(torch.equal(value, weights[name].to(saved)) for name, value in loaded.state_dict().items())
    assert loaded.dtype == saved


def test_adapters_are_merged_into_what_is_saved_and_lie_beside_it(model, tokenizer, tmp_path):
    model = lora.attach(model, "lora", rank=2, alpha=4.0)
    policy = PlacedPolicy(model, ForwardSettings(), torch.float32, sampled_here=True)
    moved(policy)
    policy.save(tmp_path / "model", tokenizer)
    assert (tmp_path / "adapter/adapter_model.safetensors").exists()
    loaded, _ = load_policy(str(tmp_path / "model"))
    merged = lora.merged(policy.model).state_dict()
    assert all(torch.equal(value, merged[name]) for name, value in loaded.state_dict().items())
