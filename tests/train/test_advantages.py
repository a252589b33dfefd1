"""Advantage estimators against loops over groups, written from the papers' formulas."""

import statistics

import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train import advantages
from toolenvs.train.advantages import names, needs

SCALAR = {
    "grpo": lambda own, group, lengths, everyone: (own - statistics.mean(group)) / (statistics.stdev(group) + 1e-6),
    "dr_grpo": lambda own, group, lengths, everyone: own - statistics.mean(group),
    "rloo": lambda own, group, lengths, everyone: own - (sum(group) - own) / (len(group) - 1),
    "lite_ppo": lambda own, group, lengths, everyone: (
        (own - statistics.mean(group)) / (statistics.stdev(everyone) + 1e-6)
    ),
    "opo": lambda own, group, lengths, everyone: (
        own - sum(n * r for n, r in zip(lengths, group, strict=True)) / sum(lengths)
    ),
}


@pytest.fixture
def batch():
    """Token rewards, mask and groups of eight sequences in three unsorted groups; float64 [8, 6]."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.randint(0, 3, (8, 6), generator=generator, dtype=torch.int8)
    mask[:, 2] = 1
    rewards = torch.randn(8, 6, generator=generator, dtype=torch.float64) * (mask == 1)
    return rewards, mask, torch.tensor([7, 3, 7, 5, 3, 5, 7, 5])


def returns_of(rewards, mask):
    rows = zip(rewards.tolist(), mask.tolist(), strict=True)
    return [sum(r for r, m in zip(row, line, strict=True) if m == 1) for row, line in rows]


SETTINGS = {"gamma": 1.0, "lam": 1.0, "critic_lam": 1.0, "turn_gamma": 1.0, "length_alpha": 0.05}
GROUP_WISE = [name for name in names() if not needs(name)]


def estimator(name):
    """The estimator on rewards, mask and groups, with turns, and with a critic that says 0."""

    def run(rewards, mask, groups):
        turns = (mask != 0).long().cumsum(-1)
        found = advantages.estimate(
            name, rewards, mask, groups, turns=turns, nodes=0 * turns, values=torch.zeros_like(rewards), **SETTINGS
        )
        return found.advantages

    return run


def test_every_group_wise_file_is_held_against_a_loop():
    assert {*SCALAR, "reinforce_pp_baseline", "pass_at_k"} == set(GROUP_WISE)


@pytest.mark.parametrize("name", SCALAR)
def test_estimator_agrees_with_a_loop_over_groups(batch, name):
    rewards, mask, groups = batch
    returns = returns_of(rewards, mask)
    found = estimator(name)(rewards, mask, groups)
    for row in range(len(groups)):
        members = [other for other in range(len(groups)) if groups[other] == groups[row]]
        lengths = [sum(int(m) == 1 for m in mask[member]) for member in members]
        expected = SCALAR[name](returns[row], [returns[member] for member in members], lengths, returns)
        for column in range(mask.shape[1]):
            assert float(found[row, column]) == pytest.approx(expected if mask[row, column] == 1 else 0, abs=1e-9)


def test_reinforce_pp_baseline_is_the_centred_return_in_standard_scores_over_tokens(batch):
    rewards, mask, groups = batch
    found = estimator("reinforce_pp_baseline")(rewards, mask, groups)
    returns = returns_of(rewards, mask)
    centred = []
    for row in range(len(groups)):
        mean = statistics.mean(returns[other] for other in range(len(groups)) if groups[other] == groups[row])
        centred += [returns[row] - mean for m in mask[row] if m == 1]
    mean, spread = statistics.mean(centred), statistics.stdev(centred)
    assert found[mask == 1].tolist() == pytest.approx([(value - mean) / spread for value in centred])


def test_pass_at_k_pays_the_best_of_each_group_its_lead(batch):
    rewards, mask, groups = batch
    found = estimator("pass_at_k")(rewards, mask, groups)
    returns = returns_of(rewards, mask)
    for group in set(groups.tolist()):
        members = sorted((returns[row], row) for row in range(8) if groups[row] == group)
        for place, (value, row) in enumerate(members):
            lead = value - members[-2][0] if place == len(members) - 1 else 0.0
            assert found[row][mask[row] == 1].tolist() == pytest.approx([lead] * int((mask[row] == 1).sum()))


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("poison", [3.5, float("inf"), float("nan")])
def test_rewards_on_other_tokens_change_nothing(batch, name, poison):
    rewards, mask, groups = batch
    poisoned = torch.where(mask == 1, rewards, torch.full_like(rewards, poison))
    found = estimator(name)(poisoned, mask, groups)
    assert torch.equal(found, estimator(name)(rewards, mask, groups))
    assert not found[mask != 1].any()


@pytest.mark.parametrize("name", names())
def test_order_of_sequences_does_not_matter(batch, name):
    rewards, mask, groups = batch
    order = torch.tensor([3, 1, 7, 0, 2, 6, 5, 4])
    found = estimator(name)(rewards[order], mask[order], groups[order])
    torch.testing.assert_close(found, estimator(name)(rewards, mask, groups)[order])


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo", "opo"])
def test_a_group_of_one_keeps_its_return(name):
    found = estimator(name)(torch.tensor([[0.0, 0.5, 2.0]]), torch.tensor([[0, 1, 1]]), torch.tensor([4]))
    torch.testing.assert_close(found, torch.tensor([[0.0, 2.5, 2.5]]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", GROUP_WISE)
def test_equal_returns_give_no_advantage(name):
    mask = torch.tensor([[0, 1, 1], [0, 1, 0]])
    found = estimator(name)(torch.tensor([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]), mask, torch.tensor([0, 0]))
    assert not found.any()


def test_unknown_estimator_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match="'grpo'"):
        needs("gprpo")


def test_an_estimator_that_needs_a_critic_says_so(batch):
    with pytest.raises(ConfigError, match=r"'gae' needs the values of a critic; baselines/ppo\.py"):
        advantages.estimate("gae", *batch, values=None, **SETTINGS)
    with pytest.raises(ConfigError, match="'turn_returns' needs turn_gamma, turns"):
        advantages.estimate("turn_returns", *batch, gamma=1.0)
