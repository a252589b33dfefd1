"""Losses against loops written from the formulas, one token at a time."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.train.corrections import sampling_correction
from toolenvs.train.kl import FORMS, kl_per_token
from toolenvs.train.losses import AGGREGATIONS, Denominator, aggregate
from toolenvs.train.policy_losses.clip import loss as policy_loss

LOW, HIGH = 0.2, 0.28


def clip_loss_of_a_token(new, old, advantage, dual_clip):
    """The clipped surrogate by cases: which side of the window the ratio is on, and the sign of the advantage."""
    ratio = math.exp(new - old)
    if advantage >= 0:
        return -advantage * min(ratio, 1 + HIGH)
    loss = -advantage * max(ratio, 1 - LOW)
    return min(loss, -advantage * dual_clip) if dual_clip is not None else loss


def tokens_of(mask):
    return [(row, column) for row in range(mask.shape[0]) for column in range(mask.shape[1]) if mask[row, column] == 1]


@pytest.mark.parametrize("dual_clip", [None, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_policy_loss_agrees_with_a_loop_over_tokens(tensors, seed, dual_clip):
    t = tensors(seed)
    found = policy_loss(
        t["logprobs"] * 2, t["old"], t["advantages"], t["mask"], clip_low=LOW, clip_high=HIGH, dual_clip=dual_clip
    )
    expected = torch.zeros_like(t["logprobs"])
    for row, column in tokens_of(t["mask"]):
        new, old = float(t["logprobs"][row, column] * 2), float(t["old"][row, column])
        expected[row, column] = clip_loss_of_a_token(new, old, float(t["advantages"][row, column]), dual_clip)
    torch.testing.assert_close(found.loss, expected)


@pytest.mark.parametrize("dual_clip", [None, 3.0])
def test_clipped_marks_exactly_the_tokens_without_gradient(tensors, dual_clip):
    t = tensors(3)
    logprobs = (t["logprobs"] * 2).requires_grad_()
    found = policy_loss(
        logprobs, t["old"], t["advantages"], t["mask"], clip_low=LOW, clip_high=HIGH, dual_clip=dual_clip
    )
    found.loss.sum().backward()
    policy = t["mask"] == 1
    assert found.clipped[policy].any()
    assert not found.clipped[policy].all()
    assert torch.equal(found.clipped[policy] == 1, logprobs.grad[policy] == 0)


def test_dual_clip_below_one_is_refused(tensors):
    t = tensors()
    with pytest.raises(ConfigError, match="dual_clip"):
        policy_loss(t["logprobs"], t["old"], t["advantages"], t["mask"], dual_clip=0.5)


def aggregate_by_loop(values, mask, form, length):
    rows = [[float(values[row, column]) for r, column in tokens_of(mask) if r == row] for row in range(len(mask))]
    rows = [row for row in rows if row]
    match form:
        case "token-mean":
            return sum(map(sum, rows)) / sum(map(len, rows))
        case "seq-mean-token-sum":
            return sum(map(sum, rows)) / len(rows)
        case "seq-mean-token-mean":
            return sum(sum(row) / len(row) for row in rows) / len(rows)
        case "seq-mean-token-sum-norm":
            return sum(sum(row) / length for row in rows) / len(rows)


@pytest.mark.parametrize("form", AGGREGATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_aggregation_agrees_with_a_loop(tensors, form, seed):
    t = tensors(seed)
    found = aggregate(t["logprobs"], t["mask"], form, Denominator.of(t["mask"]), constant_tokens=11)
    assert float(found) == pytest.approx(aggregate_by_loop(t["logprobs"], t["mask"], form, 11))


@given(
    form=st.sampled_from(sorted(AGGREGATIONS)),
    seed=st.integers(0, 1000),
    cuts=st.sets(st.integers(1, 3)),
)
def test_micro_batches_give_the_gradient_of_the_whole(tensors, form, seed, cuts):
    t = tensors(seed)
    denominator = Denominator.of(t["mask"])

    def gradient(parts):
        logprobs = t["logprobs"].clone().requires_grad_()
        for part in parts:
            values = policy_loss(
                logprobs[part], t["old"][part], t["advantages"][part], t["mask"][part], clip_low=LOW, clip_high=HIGH
            ).loss
            aggregate(values, t["mask"][part], form, denominator, constant_tokens=7).backward()
        return logprobs.grad

    edges = [0, *sorted(cuts), 4]
    parts = [slice(start, end) for start, end in zip(edges, edges[1:], strict=False)]
    torch.testing.assert_close(gradient(parts), gradient([slice(0, 4)]))


@pytest.mark.parametrize("form", AGGREGATIONS)
@pytest.mark.parametrize("poison", [0.0, 1e9, float("inf"), float("nan")])
@pytest.mark.parametrize("kl", FORMS)
def test_other_tokens_change_neither_loss_nor_gradient(tensors, form, poison, kl):
    t = tensors(1)
    other = t["mask"] != 1

    def total_and_gradient(value):
        logprobs = torch.where(other, torch.full_like(t["logprobs"], value), t["logprobs"]).requires_grad_()
        old = torch.where(other, torch.full_like(t["old"], -value), t["old"])
        advantages = torch.where(other, torch.full_like(t["advantages"], value), t["advantages"])
        values = policy_loss(logprobs, old, advantages, t["mask"], dual_clip=3.0).loss
        values = values + 0.1 * kl_per_token(logprobs, old, t["mask"], kl)
        values = values * sampling_correction(old, old + 0.1, t["mask"], cap=2.0)
        total = aggregate(values, t["mask"], form, Denominator.of(t["mask"]), constant_tokens=7)
        total.backward()
        return total.detach(), logprobs.grad

    expected, expected_gradient = total_and_gradient(5.0)
    total, gradient = total_and_gradient(poison)
    assert torch.equal(total, expected)
    assert torch.equal(gradient, expected_gradient)
    assert not gradient[other].any()
    assert gradient[~other].any()


def test_denominator_counts_policy_tokens_and_the_sequences_that_have_any(tensors):
    mask = torch.tensor([[0, 1, 2, 1], [0, 0, 2, 2], [0, 1, 0, 0]])
    assert Denominator.of(mask) == Denominator(tokens=3, sequences=2)
    with pytest.raises(ValueError, match="no policy token"):
        Denominator.of(torch.zeros(2, 3))


def test_unknown_forms_are_named_with_the_nearest(tensors):
    t = tensors()
    with pytest.raises(ConfigError, match="token-mean"):
        aggregate(t["logprobs"], t["mask"], "token_mean", Denominator.of(t["mask"]))
    with pytest.raises(ConfigError, match="constant_tokens"):
        aggregate(t["logprobs"], t["mask"], "seq-mean-token-sum-norm", Denominator.of(t["mask"]))
    with pytest.raises(ConfigError, match="k1, k2, k3"):
        kl_per_token(t["logprobs"], t["old"], t["mask"], "backwards")
