"""Policy losses against scalar formulas, token by token, in value and gradient; micro-batches agree with the whole.

The oracle of a gradient is a central difference of the scalar formula with what carries no gradient held fixed, so that
neither autograd nor a formula of the code's stands behind it.
"""

import math

import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train.losses import AGGREGATIONS, Denominator, aggregate
from toolenvs.train.policy_losses import names, needs, policy_loss, prepare
from toolenvs.train.policy_losses.m2po import Bounds

LOW, HIGH, BETA, TAU = 0.2, 0.28, 0.05, 0.1
STEP = 1e-6
RPG_FORMS = ("rpg-forward", "rpg-reverse", "rpg-unnormalised-forward", "rpg-unnormalised-reverse")


def clip(ratio, low=1 - LOW, high=1 + HIGH):
    return min(max(ratio, low), high)


# Each loss of l, with the policy's l at which weights are held (`at`), l_old, A, l_prox and the bounds of M2PO.
def _clip(l, at, old, a, prox, bounds):  # noqa: E741
    loss = max(-a * math.exp(l - old), -a * clip(math.exp(l - old)))
    return min(loss, -a * 3.0) if a < 0 else loss


def _ewma(l, at, old, a, prox, bounds):  # noqa: E741
    moved = min(max(l - prox, math.log(1 - LOW)), math.log(1 + HIGH))
    return max(-a * min(math.exp(l - old), 100), -a * min(math.exp(moved + prox - old), 100))


def _m2po(l, at, old, a, prox, bounds):  # noqa: E741
    return max(-a * math.exp(l - old), -a * clip(math.exp(l - old), bounds.low, bounds.high))


def _cispo(l, at, old, a, prox, bounds):  # noqa: E741
    return -clip(math.exp(at - old)) * a * l


def _tis(l, at, old, a, prox, bounds):  # noqa: E741
    return -min(math.exp(at - old), 1) * a * l


def _topr(l, at, old, a, prox, bounds):  # noqa: E741
    return -(1 if a > 0 else min(math.exp(at - old), 1)) * a * l


def _kimi(l, at, old, a, prox, bounds):  # noqa: E741
    return -a * l + TAU / 2 * (l - old) ** 2


def _rpg(form):
    def loss(l, at, old, a, prox, bounds):  # noqa: E741
        r = clip(math.exp(at - old))
        term = {
            "rpg-forward": 1.0,
            "rpg-reverse": -r * (math.log(r) + 1),
            "rpg-unnormalised-forward": 1 - r,
            "rpg-unnormalised-reverse": -r * math.log(r),
        }[form]
        return -(a * r + BETA * term) * l

    return loss


ORACLE = {
    ("clip", "k3"): _clip,
    ("ppo_ewma", "k3"): _ewma,
    ("m2po", "k3"): _m2po,
    ("cispo", "k3"): _cispo,
    ("tis", "k3"): _tis,
    ("topr", "k3"): _topr,
    ("kimi", "k3"): _kimi,
    **{("rpg", form): _rpg(form) for form in RPG_FORMS},
}


def available(t, form="k3", statistics=None):
    return {
        "clip_low": LOW,
        "clip_high": HIGH,
        "dual_clip": 3.0,
        "prox_logprobs": t["prox"],
        "kl_coef": BETA,
        "kl_form": form,
        "m2_limit": 0.04,
        "statistics": statistics,
    }


@pytest.fixture
def case(tensors):
    """What a loss takes, and log-probabilities of a proximal policy between the old one and the current one."""

    def make(seed):
        t = tensors(seed)
        return {**t, "prox": t["old"] + 0.3 * (t["logprobs"] - t["old"])}

    return make


def test_every_file_is_held_against_a_formula():
    assert {name for name, _ in ORACLE} == set(names())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "form"), ORACLE)
def test_a_loss_and_its_gradient_agree_with_the_formula(case, name, form, seed):
    t = case(seed)
    bounds = Bounds(0.6, 1.7)
    logprobs = t["logprobs"].clone().requires_grad_()
    found = policy_loss(name, logprobs, t["old"], t["advantages"], t["mask"], **available(t, form, bounds))
    found.loss.sum().backward()
    for row in range(4):
        for column in range(7):
            value = gradient = ratio = 0.0
            if t["mask"][row, column] == 1:
                at, old, a, prox = (float(t[key][row, column]) for key in ("logprobs", "old", "advantages", "prox"))
                value = ORACLE[name, form](at, at, old, a, prox, bounds)
                above, below = (ORACLE[name, form](at + d, at, old, a, prox, bounds) for d in (STEP, -STEP))
                gradient, ratio = (above - below) / (2 * STEP), math.exp(at - old)
            assert float(found.loss[row, column].detach()) == pytest.approx(value, rel=0, abs=1e-9)
            # A central difference is right to the square of its step, and to rounding over it.
            assert float(logprobs.grad[row, column]) == pytest.approx(gradient, rel=1e-8, abs=1e-8)
            assert float(found.ratio[row, column]) == pytest.approx(ratio, rel=0, abs=1e-9)


@pytest.mark.parametrize(("name", "form"), ORACLE)
@pytest.mark.parametrize("poison", [1e9, float("inf"), float("nan")])
def test_other_tokens_change_neither_loss_nor_gradient(case, name, form, poison):
    t = case(1)
    other = t["mask"] != 1

    def loss_and_gradient(value):
        filled = {key: torch.where(other, torch.full_like(t[key], value), t[key]) for key in t if key != "mask"}
        logprobs = filled["logprobs"].requires_grad_()
        arguments = (logprobs, filled["old"], filled["advantages"], t["mask"])
        more = available(filled, form)
        if "statistics" in needs(name):
            more["statistics"] = prepare(name, *arguments, **more)
        found = policy_loss(name, *arguments, **more)
        found.loss.sum().backward()
        return found.loss.detach(), logprobs.grad

    expected, found = loss_and_gradient(0.5), loss_and_gradient(poison)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], expected[1])
    assert not found[1][other].any()


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(("name", "form"), ORACLE)
def test_micro_batches_give_the_gradient_of_the_whole(case, name, form, aggregation):
    t = case(2)
    denominator = Denominator.of(t["mask"])
    whole = (t["logprobs"], t["old"], t["advantages"], t["mask"])
    more = available(t, form)
    if "statistics" in needs(name):
        more["statistics"] = prepare(name, *whole, **more)

    def gradient(parts):
        logprobs = t["logprobs"].clone().requires_grad_()
        for part in parts:
            mine = {**more, "prox_logprobs": t["prox"][part]}
            found = policy_loss(name, logprobs[part], *(tensor[part] for tensor in whole[1:]), **mine)
            aggregate(found.loss, t["mask"][part], aggregation, denominator, constant_tokens=7).backward()
        return logprobs.grad

    one_by_one = [slice(row, row + 1) for row in range(4)]
    torch.testing.assert_close(gradient(one_by_one), gradient([slice(0, 4)]), rtol=0, atol=1e-9)


def second_moment(t, tau):
    """mean(min(D^2, tau^2)) over the tokens that a clip could hold back."""
    squares = []
    for row in range(t["mask"].shape[0]):
        for column in range(t["mask"].shape[1]):
            if t["mask"][row, column] == 1:
                d = float(t["logprobs"][row, column] - t["old"][row, column])
                a = float(t["advantages"][row, column])
                if (a > 0 and d > 0) or (a < 0 and d < 0):
                    squares.append(min(d * d, tau * tau))
    return sum(squares) / len(squares) if squares else 0.0


@pytest.mark.parametrize("seed", range(6))
def test_m2po_s_bounds_are_the_widest_that_hold_the_moment(case, seed):
    t = case(seed)
    limit = second_moment(t, math.inf) / 3
    arguments = (t["logprobs"], t["old"], t["advantages"], t["mask"])
    found = prepare("m2po", *arguments, **{**available(t), "m2_limit": limit, "clip_low": 0.0, "clip_high": 0.0})
    tau = math.log(found.high)
    assert found.low == pytest.approx(math.exp(-tau))
    assert second_moment(t, tau) == pytest.approx(limit, rel=1e-9)
    assert second_moment(t, tau * 1.01) > limit
    loose = prepare("m2po", *arguments, **{**available(t), "m2_limit": limit, "clip_low": 0.3, "clip_high": 0.5})
    assert loose.low == pytest.approx(min(math.exp(-tau), 0.7))
    assert loose.high == pytest.approx(max(math.exp(tau), 1.5))
    free = prepare("m2po", *arguments, **{**available(t), "m2_limit": 3.01 * limit})
    assert free == Bounds(0.0, math.inf)


def test_what_is_wrong_is_said(case):
    t = case(0)
    arguments = (t["logprobs"], t["old"], t["advantages"], t["mask"])
    with pytest.raises(ConfigError, match="did you mean 'clip'"):
        policy_loss("clp", *arguments)
    with pytest.raises(ConfigError, match="'ppo_ewma' needs prox_logprobs"):
        policy_loss("ppo_ewma", *arguments, clip_low=LOW, clip_high=HIGH)
    with pytest.raises(ConfigError, match="'rpg' knows no KL form 'k3'"):
        policy_loss("rpg", *arguments, **available(t, "k3"))
