"""KL forms against their formulas in value and gradient, one token at a time, and against exact divergences."""

import math

import pytest
import torch

from toolenvs.train.kl import FORMS, kl_per_token

TOLERANCE = {"rel": 0, "abs": 1e-9}


def _log(w):
    return math.log(w)


# By w = p / p_ref: the value, and its derivative with respect to log p.
ORACLE = {
    "k1": (_log, lambda w: 1.0),
    "abs": (lambda w: abs(_log(w)), lambda w: math.copysign(1.0, _log(w))),
    "k2": (lambda w: _log(w) ** 2 / 2, _log),
    "k3": (lambda w: 1 / w - 1 + _log(w), lambda w: 1 - 1 / w),
    "k3+": (lambda w: 1 / w - 1 + _log(w), _log),
    "rpg-forward": (lambda w: -_log(w), lambda w: -1.0),
    "rpg-reverse": (lambda w: w * _log(w), lambda w: w * (_log(w) + 1)),
    "rpg-unnormalised-forward": (lambda w: w - _log(w) - 1, lambda w: w - 1),
    "rpg-unnormalised-reverse": (lambda w: w * (_log(w) - 1) + 1, lambda w: w * _log(w)),
    "rpg-js": (lambda w: (w - 1) * _log(w) / 2, lambda w: (w * (_log(w) + 1) - 1) / 2),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
def test_a_form_and_its_gradient_agree_with_the_formula(tensors, form, seed):
    t = tensors(seed)
    reference = t["logprobs"] - (t["logprobs"] - t["old"]) / 3  # not so far that RPG's bound is reached
    logprobs = t["logprobs"].clone().requires_grad_()
    found = kl_per_token(logprobs, reference, t["mask"], form)
    found.sum().backward()
    value, slope = ORACLE[form]
    for row in range(4):
        for column in range(7):
            policy = t["mask"][row, column] == 1
            w = math.exp(float(t["logprobs"][row, column]) - float(reference[row, column]))
            assert abs(value(w)) < 10
            assert float(found[row, column].detach()) == pytest.approx(value(w) if policy else 0, **TOLERANCE)
            assert float(logprobs.grad[row, column]) == pytest.approx(slope(w) if policy else 0, **TOLERANCE)


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith("rpg-") and form != "rpg-forward"])
def test_rpg_s_forms_are_bounded_by_10(form):
    logprobs = torch.tensor([[8.0, -8.0]], requires_grad=True)
    found = kl_per_token(logprobs, torch.zeros(1, 2), torch.ones(1, 2), form)
    found.sum().backward()
    assert float(found[0, 0].detach()) == 10
    assert float(logprobs.grad[0, 0]) == 0


def distributions():
    """Two of 50 outcomes, in float64: log-probabilities of a policy, with gradient, and of a reference."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 50, generator=generator, dtype=torch.float64) / 3
    policy = scores[0].clone().requires_grad_()
    return policy, torch.log_softmax(scores[1], -1)


@pytest.mark.parametrize("form", ["k1", "k3"])
def test_k1_and_k3_are_unbiased_in_value(form):
    """Over the whole vocabulary instead of samples: the estimates' expectations are the divergence itself."""
    scores, reference = distributions()
    policy = torch.log_softmax(scores.detach(), -1)
    exact = float((policy.exp() * (policy - reference)).sum())
    estimates = kl_per_token(policy[None], reference[None], torch.ones(1, 50), form)
    assert float((policy.exp() * estimates).sum()) == pytest.approx(exact, **TOLERANCE)


@pytest.mark.parametrize(
    ("form", "sampled", "divergence"),
    [
        # k2, and k3+ by it, on samples of the policy itself; RPG's on samples of the reference.
        ("k2", "policy", "reverse"),
        ("k3+", "policy", "reverse"),
        ("rpg-forward", "reference", "forward"),
        ("rpg-reverse", "reference", "reverse"),
        ("rpg-unnormalised-forward", "reference", "forward"),
        ("rpg-unnormalised-reverse", "reference", "reverse"),
    ],
)
def test_the_expected_gradient_is_that_of_the_divergence(form, sampled, divergence):
    scores, reference = distributions()
    policy = torch.log_softmax(scores, -1)
    exact = policy.exp() * (policy - reference) if divergence == "reverse" else reference.exp() * (reference - policy)
    (expected,) = torch.autograd.grad(exact.sum(), scores, retain_graph=True)
    weights = (policy if sampled == "policy" else reference).exp().detach()
    estimates = kl_per_token(policy[None], reference[None], torch.ones(1, 50), form)[0]
    (found,) = torch.autograd.grad((weights * estimates).sum(), scores)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
