"""Importance weights between trainer and engine, against a loop over sequences."""

import math

import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train.corrections import FORMS, REJECTIONS, sampling_correction

CAP, WINDOW = 2.0, 0.4


def weights_by_loop(old, sampled, mask, form, reject):
    """The weight of each token of one sequence; 1 where the mask is not 1."""
    ratios = [math.exp(o - s) for o, s, m in zip(old, sampled, mask, strict=True) if m == 1]
    product = math.prod(ratios)
    kept = {
        "none": True,
        "floor": all(ratio >= 1e-4 for ratio in ratios),
        "geometric": not ratios or abs(product ** (1 / len(ratios)) - 1) <= WINDOW,
        "product": 1 / (1 + WINDOW) <= product <= 1 + WINDOW,
    }[reject]
    found = []
    for o, s, m in zip(old, sampled, mask, strict=True):
        ratio = math.exp(o - s)
        weight = {
            "token-cap": min(ratio, CAP),
            "token-mask": ratio if 1 / CAP <= ratio <= CAP else 0.0,
            "sequence-cap": min(product, CAP),
            "sequence-mask": product if product <= CAP else 0.0,
        }[form]
        found.append((weight if kept else 0.0) if m == 1 else 1.0)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reject", REJECTIONS)
def test_weights_agree_with_a_loop(tensors, form, reject, seed):
    t = tensors(seed)
    old = t["old"].clone()
    sampled = old - t["logprobs"] / 2
    if reject == "floor":
        sampled[1, 3] = old[1, 3] + 12
    found = sampling_correction(
        old.requires_grad_(), sampled, t["mask"], cap=CAP, form=form, reject=reject, window=WINDOW
    )
    assert not found.requires_grad
    for row in range(4):
        expected = weights_by_loop(old[row].tolist(), sampled[row].tolist(), t["mask"][row].tolist(), form, reject)
        assert found[row].tolist() == pytest.approx(expected, rel=0, abs=1e-9)


def test_rejections_keep_some_and_reject_some(tensors):
    kept = dict.fromkeys(REJECTIONS, 0)
    for seed in range(10):
        t = tensors(seed)
        for reject in REJECTIONS:
            sampled = t["old"] - t["logprobs"] / 4
            sampled[1, 3] += 12 if reject == "floor" else 0
            found = sampling_correction(t["old"], sampled, t["mask"], cap=CAP, reject=reject, window=WINDOW)
            kept[reject] += int((found.amin(-1) > 0).sum())
    assert kept["none"] == 40
    assert all(10 < kept[reject] < 40 for reject in REJECTIONS if reject != "none")


def test_what_stands_at_other_tokens_does_not_matter(tensors):
    t = tensors(1)
    other = t["mask"] != 1
    for form in FORMS:
        for reject in REJECTIONS:
            found = [
                sampling_correction(
                    torch.where(other, torch.full_like(t["old"], value), t["old"]),
                    t["old"] - 0.01,
                    t["mask"],
                    cap=CAP,
                    form=form,
                    reject=reject,
                )
                for value in (0.0, float("nan"))
            ]
            assert torch.equal(*found)


def test_unknown_names_are_refused(tensors):
    t = tensors(0)
    with pytest.raises(ConfigError, match="token-cap"):
        sampling_correction(t["old"], t["old"], t["mask"], cap=CAP, form="token-cp")
    with pytest.raises(ConfigError, match="geometric"):
        sampling_correction(t["old"], t["old"], t["mask"], cap=CAP, reject="geometrical")
