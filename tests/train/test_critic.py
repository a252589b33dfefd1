"""The critic: where its values stand, its loss against a scalar formula, and an update that fits it."""

import copy
from dataclasses import replace

import pytest
import torch

from toolenvs.train.batching import pad
from toolenvs.train.critic import Critic, estimate_values, update_critic, value_loss
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.optim import Optimizers, split_parameters

WHOLE = ForwardSettings(micro_batch_tokens=10_000)
PIECES = ForwardSettings(micro_batch_tokens=1, packing="packed")


@pytest.fixture
def critic(model):
    """An untrained critic whose head is not zero, in float64."""
    made = Critic(model).double()
    with torch.no_grad():
        made.head.weight.normal_(generator=torch.Generator().manual_seed(2))
        made.head.bias.fill_(0.3)
    return made


@pytest.fixture
def batch(sequences):
    made = pad(sequences(seed=3, count=9))
    return replace(made, logprobs=made.logprobs.double(), rewards=made.rewards.double())


@pytest.mark.parametrize("packing", ["padded", "packed"])
def test_a_value_is_of_the_state_before_its_token(critic, batch, packing):
    found = estimate_values(critic, batch, ForwardSettings(micro_batch_tokens=30, packing=packing))
    for row in range(len(batch)):
        for t in range(batch.ids.shape[1]):
            expected = 0.0
            if batch.mask[row, t] == 1:
                hidden = critic.decoder(input_ids=batch.ids[row, :t][None]).last_hidden_state[0, -1]
                expected = float((critic.head.weight[0] * hidden).sum().detach() + 0.3)
            assert float(found[row, t]) == pytest.approx(expected, abs=1e-9)


def test_an_untrained_critic_says_0_and_leaves_the_policy_alone(model, batch):
    before = copy.deepcopy(model.state_dict())
    critic = Critic(model)
    assert not estimate_values(critic, batch, WHOLE).any()
    critic(batch).sum().backward()
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    matrices, others = split_parameters(critic)
    assert critic.head.weight in set(others)
    assert len(matrices) == 3 * 7


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_value_loss_and_its_gradient_agree_with_a_loop(tensors, seed, clip):
    t = tensors(seed)
    values = t["logprobs"].clone().requires_grad_()
    found = value_loss(values, t["old"], t["advantages"], t["mask"], clip)
    found.loss.sum().backward()
    for row in range(4):
        for column in range(7):
            loss = gradient = clipped = 0.0
            if t["mask"][row, column] == 1:
                value, old, target = (float(t[key][row, column]) for key in ("logprobs", "old", "advantages"))
                loss, gradient = (value - target) ** 2 / 2, value - target
                if clip is not None and abs(value - old) > clip:
                    held = old + (clip if value > old else -clip)
                    if (held - target) ** 2 > (value - target) ** 2:
                        loss, gradient, clipped = (held - target) ** 2 / 2, 0.0, 1.0
            assert float(found.loss[row, column].detach()) == pytest.approx(loss, rel=0, abs=1e-9)
            assert float(values.grad[row, column]) == pytest.approx(gradient, rel=0, abs=1e-9)
            assert float(found.clipped[row, column]) == clipped


@pytest.mark.parametrize("poison", [float("inf"), float("nan")])
def test_other_tokens_change_neither_value_loss_nor_gradient(tensors, poison):
    t = tensors(1)
    other = t["mask"] != 1

    def loss_and_gradient(value):
        values, old, returns = (
            torch.where(other, torch.full_like(t[key], value), t[key]) for key in ("logprobs", "old", "advantages")
        )
        found = value_loss(values.requires_grad_(), old, returns, t["mask"], 0.5).loss
        found.sum().backward()
        return found.detach(), values.grad

    expected, found = loss_and_gradient(0.0), loss_and_gradient(poison)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], expected[1])


class Gradients:
    """Takes the optimizer's place: keeps each gradient, and moves nothing."""

    def __init__(self, model):
        self._model = model
        self.taken = []

    def step(self):
        self.taken.append(torch.cat([parameter.grad.flatten() for parameter in self._model.parameters()]))
        for parameter in self._model.parameters():
            parameter.grad = None
        return 0.0


@pytest.mark.parametrize("mini_batches", [1, 3])
def test_micro_batches_of_one_sequence_give_the_gradient_of_the_whole(critic, batch, mini_batches):
    returns = batch.rewards.flip(-1).cumsum(-1).flip(-1)
    old = estimate_values(critic, batch, WHOLE) + 0.2

    def run(settings):
        taken = Gradients(critic)
        numbers = update_critic(
            critic,
            taken,
            batch,
            old,
            returns,
            settings,
            clip=0.1,
            mini_batches=mini_batches,
            seed=(0, 1),
        )
        return taken.taken, numbers

    (whole, numbers), (parts, numbers_of_parts) = run(WHOLE), run(PIECES)
    assert len(whole) == len(parts) == mini_batches
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    assert numbers == pytest.approx(numbers_of_parts, rel=0, abs=1e-9)


def test_the_critic_comes_to_explain_its_targets(model, batch):
    critic = Critic(model).double()
    optimizers = Optimizers(critic, lr=3e-3)
    policy = batch.mask == 1
    returns = torch.where(policy, (batch.ids.roll(1, -1) % 7).double(), torch.zeros_like(batch.rewards))
    for step in range(30):
        values = estimate_values(critic, batch, WHOLE)
        settings = {"clip": None, "mini_batches": 1, "seed": (0, step)}
        numbers = update_critic(critic, optimizers, batch, values, returns, WHOLE, **settings)
        if step == 0:
            assert numbers["value_explained"] == pytest.approx(0)
    assert numbers["value_explained"] > 0.5
