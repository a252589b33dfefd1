"""How far engine and trainer differ, against a loop over tokens."""

import math

import pytest
import torch

from toolenvs.train.mismatch import mismatch


def test_it_is_over_the_policys_tokens_alone(tensors):
    given = tensors(3)
    found = mismatch(given["logprobs"], given["old"], given["mask"])
    differences = [
        float(given["logprobs"][row, place] - given["old"][row, place])
        for row in range(4)
        for place in range(7)
        if given["mask"][row, place] == 1
    ]
    assert found["rollout_mismatch"] == pytest.approx(sum(map(abs, differences)) / len(differences))
    assert found["rollout_mismatch_max"] == pytest.approx(max(map(abs, differences)))
    k3 = [math.exp(difference) - 1 - difference for difference in differences]
    assert found["rollout_kl"] == pytest.approx(sum(k3) / len(k3))


def test_equal_numbers_differ_by_nothing_and_no_token_by_nothing_either(tensors):
    given = tensors()
    assert set(mismatch(given["old"], given["old"], given["mask"]).values()) == {0.0}
    assert mismatch(given["old"], given["old"], torch.zeros_like(given["mask"])) == {}
