"""Estimators that look along a sequence, against loops over its policy tokens written from the formulas, in float64.

Every batch is ragged, with gaps where a tool wrote, tokens that are written but not scored, and turns of unlike
lengths.
"""

import math
import random
import statistics
from dataclasses import replace

import pytest
import torch

from toolenvs.train import advantages
from toolenvs.train.advantages import names, needs
from toolenvs.train.advantages.vapo import length_adaptive_lambda
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.credit import CreditSettings, assign_credit

TOLERANCE = {"rel": 0, "abs": 1e-9}
ALPHA = 0.4  # with so few tokens the published 0.05 would make every lambda 0


def ragged(seed):
    """Rewards, mask, groups, turns and values of nine sequences of 1 to 5 turns in three groups; float64."""
    rng = random.Random(seed)
    rows = []
    for _ in range(9):
        mask, turns, rewards = [0] * rng.randint(1, 4), [], []
        turns = [0] * len(mask)
        rewards = [0.0] * len(mask)
        for turn in range(1, rng.randint(1, 5) + 1):
            written = [rng.choice([1, 1, 1, 2]) for _ in range(rng.randint(1, 5))]
            written[rng.randrange(len(written))] = 1
            observed = [0] * rng.randint(0, 3)
            earned = [rng.gauss(0, 0.1) if m == 1 else 0.0 for m in written]
            earned[max(i for i, m in enumerate(written) if m == 1)] += rng.choice([0.0, rng.gauss(0, 1)])
            mask += written + observed
            turns += [turn] * (len(written) + len(observed))
            rewards += earned + [0.0] * len(observed)
        rows.append((mask, turns, rewards))
    width = max(len(mask) for mask, _, _ in rows)

    def tensor(index, dtype):
        return torch.tensor([row[index] + [0] * (width - len(row[index])) for row in rows], dtype=dtype)

    values = torch.randn(9, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return {
        "rewards": tensor(2, torch.float64),
        "mask": tensor(0, torch.int8),
        "groups": torch.tensor([0, 1, 2] * 3),
        "turns": tensor(1, torch.int64),
        "values": values,
    }


def run(name, batch, **settings):
    tensors = dict(batch)
    return advantages.estimate(
        name, tensors.pop("rewards"), tensors.pop("mask"), tensors.pop("groups"), **tensors, **settings
    )


def policy_places(batch, row):
    return [column for column in range(batch["mask"].shape[1]) if batch["mask"][row, column] == 1]


def whitened(found):
    """Values by place in standard scores over all of them."""
    mean = statistics.fmean(found.values())
    variance = statistics.fsum((value - mean) ** 2 for value in found.values()) / (len(found) - 1)
    return {place: (value - mean) / math.sqrt(variance + 1e-8) for place, value in found.items()}


def gae_by_definition(rewards, values, gamma, lam):
    """Sums of discounted deltas, each written out; no recursion."""
    following = [*values[1:], 0.0]
    deltas = [r + gamma * after - v for r, v, after in zip(rewards, values, following, strict=True)]
    return [
        sum((gamma * lam) ** (later - t) * deltas[later] for later in range(t, len(deltas))) for t in range(len(deltas))
    ]


def same(tensor, expected):
    """Whether a tensor holds these values at these places and 0 elsewhere."""
    for row in range(tensor.shape[0]):
        for column in range(tensor.shape[1]):
            assert float(tensor[row, column]) == pytest.approx(expected.get((row, column), 0.0), **TOLERANCE)


def own(batch, row, name):
    return [float(batch[name][row, column]) for column in policy_places(batch, row)]


def test_every_file_that_looks_along_a_sequence_is_held_against_a_loop():
    along = {name for name in names() if needs(name) - {"nodes"}}  # test_tree_advantages.py has trees
    assert along == {"gae", "vapo", "bi_level_gae", "reinforce_pp", "turn_returns"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (1.0, 0.95), (0.9, 0.8), (1.0, 0.0)])
def test_gae_skips_observations(seed, gamma, lam):
    batch = ragged(seed)
    found = run("gae", batch, gamma=gamma, lam=lam)
    raw, targets = {}, {}
    for row in range(9):
        values = own(batch, row, "values")
        estimates = gae_by_definition(own(batch, row, "rewards"), values, gamma, lam)
        for column, estimate, value in zip(policy_places(batch, row), estimates, values, strict=True):
            raw[row, column], targets[row, column] = estimate, estimate + value
    same(found.advantages, whitened(raw))
    same(found.returns, targets)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("critic_lam", [1.0, 0.9])
def test_vapo_s_lambda_grows_with_the_response_and_the_critic_has_its_own(seed, critic_lam):
    batch = ragged(seed)
    found = run("vapo", batch, gamma=1.0, critic_lam=critic_lam, length_alpha=ALPHA)
    raw, targets, lams = {}, {}, set()
    for row in range(9):
        rewards, values = own(batch, row, "rewards"), own(batch, row, "values")
        lam = max(0.0, 1 - 1 / (ALPHA * len(rewards)))
        lams.add(lam)
        mine = gae_by_definition(rewards, values, 1.0, lam)
        critics = gae_by_definition(rewards, values, 1.0, critic_lam)
        for place, column in enumerate(policy_places(batch, row)):
            raw[row, column], targets[row, column] = mine[place], critics[place] + values[place]
    assert len(lams) > 3
    same(found.advantages, whitened(raw))
    same(found.returns, targets)


def test_vapo_s_published_alpha_gives_0_up_to_20_tokens():
    lengths = torch.tensor([1, 20, 40, 200])
    assert length_adaptive_lambda(lengths, 0.05).tolist() == pytest.approx([0, 0, 0.5, 0.9])


def test_monte_carlo_targets_are_the_reward_still_to_come():
    batch = ragged(1)
    found = run("vapo", batch, gamma=1.0, critic_lam=1.0, length_alpha=ALPHA)
    for row in range(9):
        rewards = own(batch, row, "rewards")
        to_come = [sum(rewards[place:]) for place in range(len(rewards))]
        assert found.returns[row][batch["mask"][row] == 1].tolist() == pytest.approx(to_come, **TOLERANCE)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("turn_gamma", "gamma", "lam"), [(0.95, 1.0, 1.0), (0.95, 0.9, 0.8), (1.0, 1.0, 0.5)])
def test_bi_level_gae_goes_from_turn_to_turn_and_then_within_each(seed, turn_gamma, gamma, lam):
    batch = ragged(seed)
    found = run("bi_level_gae", batch, gamma=gamma, lam=lam, turn_gamma=turn_gamma)
    raw, targets = {}, {}
    for row in range(9):
        turns = {}
        for column in policy_places(batch, row):
            turns.setdefault(int(batch["turns"][row, column]), []).append(column)
        members = list(turns.values())
        ends = [columns[-1] for columns in members]
        end_values = [float(batch["values"][row, end]) for end in ends]
        of_turns = gae_by_definition([float(batch["rewards"][row, end]) for end in ends], end_values, turn_gamma, lam)
        for columns, worth, value in zip(members, of_turns, end_values, strict=True):
            rewards = [float(batch["rewards"][row, column]) for column in columns[:-1]] + [worth + value]
            values = [float(batch["values"][row, column]) for column in columns]
            estimates = gae_by_definition(rewards, values, gamma, lam)
            for column, estimate, v in zip(columns, estimates, values, strict=True):
                raw[row, column], targets[row, column] = estimate, estimate + v
    same(found.advantages, whitened(raw))
    same(found.returns, targets)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_reinforce_pp_discounts_over_policy_tokens_alone(seed, gamma):
    batch = ragged(seed)
    raw = {}
    for row in range(9):
        rewards = own(batch, row, "rewards")
        for place, column in enumerate(policy_places(batch, row)):
            raw[row, column] = sum(gamma ** (later - place) * rewards[later] for later in range(place, len(rewards)))
    same(run("reinforce_pp", batch, gamma=gamma).advantages, whitened(raw))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turn_gamma", [0.4, 1.0])
def test_turn_returns_are_discounted_over_turns_and_normalised_over_the_turns_of_a_group(seed, turn_gamma):
    batch = ragged(seed)
    returns = {}
    for row in range(9):
        earned = {}
        for column in policy_places(batch, row):
            turn = int(batch["turns"][row, column])
            earned[turn] = earned.get(turn, 0.0) + float(batch["rewards"][row, column])
        for turn in earned:
            returns[row, turn] = sum(
                turn_gamma ** (later - turn) * score for later, score in earned.items() if later >= turn
            )
    expected = {}
    for row in range(9):
        group = [value for (other, _), value in returns.items() if batch["groups"][other] == batch["groups"][row]]
        mean, spread = statistics.fmean(group), statistics.stdev(group)
        for column in policy_places(batch, row):
            own_return = returns[row, int(batch["turns"][row, column])]
            expected[row, column] = (own_return - mean) / (spread + 1e-6)
    same(run("turn_returns", batch, turn_gamma=turn_gamma).advantages, expected)


@pytest.mark.parametrize("name", [name for name in names() if "values" in needs(name)])
def test_values_of_other_tokens_change_nothing(name):
    batch = ragged(2)
    settings = {"gamma": 0.9, "lam": 0.8, "critic_lam": 0.9, "turn_gamma": 0.95, "length_alpha": ALPHA}
    poisoned = torch.where(batch["mask"] == 1, batch["values"], torch.full_like(batch["values"], math.nan))
    found, expected = run(name, {**batch, "values": poisoned}, **settings), run(name, batch, **settings)
    assert torch.equal(found.advantages, expected.advantages)
    assert torch.equal(found.returns, expected.returns)


def test_an_episode_of_several_sequences_is_credited_as_one():
    """Two sequences of one episode get what one sequence with all of their tokens would."""
    whole = TokenSequence.of(
        [1, 2, 3, 4, 5, 6], [0, 1, 1, 0, 1, 1], rewards=[0, 0, 1, 0, 0, 2], group=0, turns=[0, 1, 1, 1, 2, 2]
    )
    other = TokenSequence.of([1, 2, 3], [0, 1, 1], rewards=[0, 0, 1], group=0, turns=[0, 1, 1])
    parts = [
        TokenSequence.of([1, 2, 3], [0, 1, 1], rewards=[0, 0, 1], group=0, turns=[0, 1, 1]),
        TokenSequence.of([9, 5, 6], [0, 1, 1], rewards=[0, 0, 2], group=0, turns=[0, 2, 2]),
    ]
    parts = [replace(part, episode=7) for part in parts]
    for name in ("turn_returns", "grpo", "reinforce_pp"):
        settings = CreditSettings(estimator=name, gamma=0.9, turn_gamma=0.5)
        one = assign_credit(settings, pad([whole, other])).advantages
        two = assign_credit(settings, pad([*parts, other])).advantages
        torch.testing.assert_close(torch.cat([two[0, 1:3], two[1, 1:3]]), one[0, [1, 2, 4, 5]])
        torch.testing.assert_close(two[2, :3], one[1, :3])
