import copy

import pytest
import torch

from toolenvs.train.optim import Optimizers, split_parameters


def test_muon_takes_hidden_matrices_and_never_the_embedding(model):
    matrices, others = split_parameters(model)
    assert len(matrices) == 3 * 7
    assert {tuple(parameter.shape) for parameter in matrices} == {(96, 96), (192, 96), (96, 192)}
    assert any(parameter is model.get_input_embeddings().weight for parameter in others)
    assert len(matrices) + len(others) == len(list(model.parameters()))


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        ({"warmup_steps": 4}, [0.025, 0.05, 0.075, 0.1, 0.1]),
        ({"decay_steps": 4}, [0.1, 0.075, 0.05, 0.025, 0.0]),
    ],
)
def test_the_schedule_scales_the_steps(schedule, steps):
    layer = torch.nn.Linear(2, 2, bias=False)
    optimizers = Optimizers(layer, lr=0.1, max_grad_norm=None, **schedule)
    moved = []
    for _ in range(5):
        before = layer.weight.detach().clone()
        layer.weight.sum().backward()
        optimizers.step()
        moved.append(float((before - layer.weight.detach()).mean()))
    assert moved == pytest.approx(steps, rel=1e-3, abs=1e-6)


def taken(layer, optimizers, gradient=1.0):
    """How far a step moved the weights."""
    before = layer.weight.detach().clone()
    layer.weight.grad = torch.full_like(layer.weight, gradient)
    optimizers.step()
    return float((before - layer.weight.detach()).mean())


def test_steps_that_were_left_out_bring_the_decay_on_and_warm_up_nothing():
    layer = torch.nn.Linear(2, 2, bias=False)
    falling = Optimizers(layer, lr=0.1, max_grad_norm=None, decay_steps=4)
    assert taken(layer, falling) == pytest.approx(0.1, rel=1e-3)
    assert taken(layer, falling, float("nan")) == 0.0
    falling.pass_to(3)
    falling.pass_to(2)  # what lies behind stays there
    again = Optimizers(layer, lr=0.1, max_grad_norm=None, decay_steps=4)
    again.load_state_dict(copy.deepcopy(falling.state_dict()))
    assert taken(layer, falling) == pytest.approx(0.025, rel=1e-3)
    assert taken(layer, again) == pytest.approx(0.025, rel=1e-3)
    assert taken(layer, falling) == 0.0
    rising = Optimizers(layer, lr=0.1, max_grad_norm=None, warmup_steps=4)
    rising.pass_to(3)
    assert taken(layer, rising) == pytest.approx(0.025, rel=1e-3)


def test_a_gradient_that_is_not_finite_leaves_the_weights(model):
    optimizers = Optimizers(model, lr=0.1, muon_lr=0.1)
    before = copy.deepcopy(model.state_dict())
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, float("nan"))
    assert not optimizers.step() < float("inf")
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_state_goes_on_where_it_was_saved():
    def run(layer, optimizers, steps):
        for step in range(*steps):
            (layer(torch.full((1, 3), float(step + 1))) ** 2).sum().backward()
            optimizers.step()

    def fresh():
        torch.manual_seed(0)
        layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
        return layer, Optimizers(layer, lr=0.01, muon_lr=0.02, warmup_steps=5)

    whole, whole_optimizers = fresh()
    run(whole, whole_optimizers, (0, 6))
    first, first_optimizers = fresh()
    run(first, first_optimizers, (0, 3))
    second, second_optimizers = fresh()
    second.load_state_dict(first.state_dict())
    second_optimizers.load_state_dict(copy.deepcopy(first_optimizers.state_dict()))
    run(second, second_optimizers, (3, 6))
    assert all(torch.equal(value, second.state_dict()[name]) for name, value in whole.state_dict().items())


@pytest.mark.parametrize("fused", [None, False])
def test_how_steps_are_computed_is_not_taken_from_a_checkpoint(fused):
    """A checkpoint may be of another device, of parameters that are shared out, or older."""
    layer = torch.nn.Linear(2, 2)
    optimizers = Optimizers(layer, lr=0.1, muon_lr=0.1)
    taken(layer, optimizers)
    saved = copy.deepcopy(optimizers.state_dict())
    own = [group["fused"] for group in saved["optimizers"][0]["param_groups"]]
    for group in saved["optimizers"][0]["param_groups"]:
        group["fused"] = fused
    again = Optimizers(layer, lr=0.1, muon_lr=0.1)
    again.load_state_dict(saved)
    assert [group["fused"] for group in again.state_dict()["optimizers"][0]["param_groups"]] == own == [True]
    assert taken(layer, again) > 0
