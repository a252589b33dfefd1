"""The policy's update: its gradient is that of an objective written out token by token, however it is cut up."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.ewma import Ewma
from toolenvs.train.update import Updater, UpdateSettings, rescore

LOW, HIGH = 0.2, 0.28


class Gradients:
    """Takes the optimizer's place: keeps the gradient of each step, and moves nothing."""

    def __init__(self, model):
        self._model = model
        self.taken = []

    def step(self):
        parameters = [parameter for parameter in self._model.parameters() if parameter.grad is not None]
        self.taken.append(torch.cat([parameter.grad.flatten() for parameter in parameters]))
        for parameter in parameters:
            parameter.grad = None
        return float(self.taken[-1].norm())


@pytest.fixture
def case(model, sequences):
    """A batch in float64 of nine ragged sequences with gaps, old log-probabilities near the policy's, advantages."""
    made = [
        replace(sequence, success=float(index % 2), cut_short=index == 4)
        for index, sequence in enumerate(sequences(seed=3, count=9))
    ]
    batch = pad(made)
    model.double()
    current = rescore(UpdateSettings(), model, replace(batch, logprobs=batch.logprobs.double()))
    generator = torch.Generator().manual_seed(5)

    def noise(scale):
        return scale * torch.randn(current.shape, generator=generator, dtype=torch.float64)

    batch = replace(batch, logprobs=current + noise(0.4), rewards=batch.rewards.double())
    return model, batch, current + noise(0.3), noise(1.0)


def gradients(model, batch, old, advantages, *, reference=None, proximal=None, **settings):
    taken = Gradients(model)
    updater = Updater(
        settings=UpdateSettings(**settings), model=model, optimizers=taken, reference=reference, proximal=proximal
    )
    numbers = updater.update(batch, old, advantages, step=1)
    return taken.taken, numbers


def perturbed(model):
    """A copy with other weights."""
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.02 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return other.requires_grad_(False)


def alone(model, ids):
    """Log-probabilities of all next tokens of one sequence without padding, [T - 1, V]."""
    return torch.log_softmax(model(input_ids=torch.as_tensor(ids)[None]).logits[0, :-1], -1)


def spoken(model, ids):
    """Of each token but the first of one sequence: its log-probability, and the entropy of what it was drawn from."""
    every = alone(model, ids)
    chosen = every.gather(-1, torch.as_tensor(ids)[1:, None]).squeeze(-1)
    return list(chosen.unbind()), list((-(every.exp() * every).sum(-1)).unbind())


def objective(model, reference, batch, old, advantages, *, kl_coef=0.0, entropy_coef=0.0, lm_coef=0.0, cap=None):
    """DAPO's loss with everything that can be added to it, one token after another."""
    surrogate, lm = [], []
    for row in range(len(batch)):
        ids = batch.ids[row, : int(batch.lengths[row])]
        logprobs, entropies = spoken(model, ids)
        anchors = spoken(reference, ids)[0] if reference is not None else []
        for t in range(1, len(ids)):
            if batch.mask[row, t] != 1:
                continue
            logprob = logprobs[t - 1]
            ratio, a = torch.exp(logprob - old[row, t]), float(advantages[row, t])
            if a >= 0:
                loss = -a * torch.clamp(ratio, max=1 + HIGH)
            else:
                loss = torch.clamp(-a * torch.clamp(ratio, min=1 - LOW), max=-a * 10.0)
            if cap is not None:
                loss = loss * min(math.exp(float(old[row, t] - batch.logprobs[row, t])), cap)
            if kl_coef:
                d = anchors[t - 1] - logprob
                loss = loss + kl_coef * (torch.exp(d) - d - 1)
            surrogate.append(loss - entropy_coef * entropies[t - 1])
            if batch.success[row] == 1:
                lm.append(-logprob)
    return sum(surrogate) / len(surrogate) + lm_coef * sum(lm) / len(lm)


@pytest.mark.parametrize(
    "extra",
    [{}, {"kl_coef": 0.3}, {"entropy_coef": 0.2}, {"lm_coef": 0.1}, {"kl_coef": 0.1, "entropy_coef": 0.1, "cap": 1.2}],
    ids=lambda extra: "+".join(extra) or "plain",
)
@pytest.mark.parametrize("micro_batch_tokens", [10_000, 30])
def test_the_gradient_is_that_of_the_written_out_objective(case, extra, micro_batch_tokens):
    model, batch, old, advantages = case
    reference = perturbed(model) if "kl_coef" in extra else None
    settings = {name: value for name, value in extra.items() if name != "cap"}
    if "cap" in extra:
        settings |= {"recompute_logprobs": True, "correction_cap": extra["cap"]}
    (found,), numbers = gradients(
        model,
        batch,
        old,
        advantages,
        reference=reference,
        mini_batches=1,
        micro_batch_tokens=micro_batch_tokens,
        **settings,
    )
    expected = objective(model, reference, batch, old, advantages, **extra)
    expected.backward()
    written_out = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(found, written_out, rtol=0, atol=1e-9)
    assert numbers["loss"] == pytest.approx(float(expected.detach()), rel=0, abs=1e-9)
    assert numbers["gradient_norm"] == pytest.approx(float(written_out.norm()), rel=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"aggregation": "seq-mean-token-mean"},
        {"aggregation": "seq-mean-token-sum-norm", "constant_tokens": 12},
        {"policy_loss": "m2po", "m2_limit": 0.01, "clip_low": 0.0, "clip_high": 0.0},
        {"policy_loss": "ppo_ewma"},
        {"policy_loss": "rpg", "kl_coef": 0.1, "kl_form": "rpg-reverse"},
        {"kl_coef": 0.3, "kl_from": "old", "kl_form": "rpg-unnormalised-reverse"},
        {"kl_coef": 0.3, "kl_form": "k3+"},
        {"lm_coef": 0.1, "entropy_coef": 0.05},
        {"overlong_filter": True},
        {"recompute_logprobs": True, "correction": "sequence-cap", "correction_reject": "floor"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "plain",
)
@pytest.mark.parametrize("mini_batches", [1, 3])
def test_micro_batches_of_one_sequence_give_the_gradient_of_the_whole(case, settings, mini_batches):
    model, batch, old, advantages = case
    reference = perturbed(model) if UpdateSettings(**settings).needs_reference else None

    def run(micro_batch_tokens):
        proximal = None
        if settings.get("policy_loss") == "ppo_ewma":
            proximal = Ewma(perturbed(model), decay=0.9)
        return gradients(
            model,
            batch,
            old,
            advantages,
            reference=reference,
            proximal=proximal,
            mini_batches=mini_batches,
            micro_batch_tokens=micro_batch_tokens,
            **settings,
        )

    (whole, numbers), (parts, numbers_of_parts) = run(10_000), run(1)
    assert len(whole) == len(parts) == mini_batches
    for one, other in zip(whole, parts, strict=True):
        assert one.abs().max() > 0
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    assert numbers == pytest.approx(numbers_of_parts, rel=0, abs=1e-9)


def test_epochs_pass_over_every_sequence_as_often_in_another_order(case):
    model, batch, old, advantages = case
    two, _ = gradients(model, batch, old, advantages, epochs=2, mini_batches=3)
    assert len(two) == 6
    once, _ = gradients(model, batch, old, advantages, epochs=1, mini_batches=3)
    assert all(torch.equal(a, b) for a, b in zip(once, two[:3], strict=True))
    assert not torch.equal(two[0], two[3])


def test_overlong_episodes_are_left_out_of_the_loss_and_its_denominator(case):
    model, batch, old, advantages = case
    (found,), _ = gradients(model, batch, old, advantages, mini_batches=1, overlong_filter=True)
    kept = torch.tensor([row for row in range(9) if row != 4])
    part = batch.rows(kept)
    width = part.ids.shape[1]
    (expected,), _ = gradients(model, part, old[kept, :width], advantages[kept, :width], mini_batches=1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    everything = replace(batch, cut_short=torch.ones(9, dtype=torch.bool))
    nothing, numbers = gradients(model, everything, old, advantages, overlong_filter=True)
    assert nothing == []
    assert numbers == {}  # an entropy of 0 would be a collapse


def test_what_was_sampled_elsewhere_is_no_mismatch_of_the_engine(case):
    model, batch, _, _ = case
    updater = Updater(settings=UpdateSettings(recompute_logprobs=True), model=model, optimizers=None)
    other = torch.arange(9) % 3 == 0
    old = batch.logprobs + 0.25 + 5.0 * other[:, None]
    _, told = updater.shape_rewards(replace(batch, off_policy=other), old)
    assert told["rollout_mismatch"] == pytest.approx(0.25)
    assert told["rollout_mismatch_max"] == pytest.approx(0.25)
    assert updater.shape_rewards(replace(batch, off_policy=other | True), old)[1] == {}


def test_the_divergence_as_a_cost_is_taken_from_each_token_s_reward(case):
    model, batch, old, _ = case
    settings = UpdateSettings(kl_coef=0.1, kl_form="k1", kl_place="reward")
    reference = perturbed(model)
    updater = Updater(settings=settings, model=model, optimizers=None, reference=reference)
    shaped, added = updater.shape_rewards(batch, old)
    total = 0.0
    for row in range(9):
        length = int(batch.lengths[row])
        anchors = alone(reference, batch.ids[row, :length])
        for t in range(batch.ids.shape[1]):
            cost = 0.0
            if batch.mask[row, t] == 1:
                cost = float(old[row, t] - anchors[t - 1, int(batch.ids[row, t])])
            total += cost
            expected = float(batch.rewards[row, t]) - 0.1 * cost
            assert float(shaped.rewards[row, t]) == pytest.approx(expected, rel=0, abs=1e-9)
    assert added["kl"] == pytest.approx(total / int((batch.mask == 1).sum()))


@pytest.mark.parametrize(("length", "fine"), [(1, 0), (6, 0), (7, -0.25), (9, -0.75), (10, -1), (13, -1)])
def test_the_overlong_fine_grows_over_the_cache_and_stands_on_the_last_policy_token(length, fine):
    mask = [0, 0, *([1] * (length - 1)), 0, 0, 1, 2, 0]
    sequences = [TokenSequence.of(np.ones(len(mask)), mask), TokenSequence.of([1, 1], [0, 1])]
    settings = UpdateSettings(overlong_cache_tokens=4, overlong_max_tokens=10, overlong_factor=0.5)
    updater = Updater(settings=settings, model=None, optimizers=None)
    shaped, added = updater.shape_rewards(pad(sequences), torch.zeros(2, len(mask)))
    expected = torch.zeros(2, len(mask))
    expected[0, length + 3] = 0.5 * fine
    torch.testing.assert_close(shaped.rewards, expected)
    assert added == {"overlong": pytest.approx(0.5 * fine / 2)}


def test_an_episode_of_several_sequences_is_as_long_as_all_of_them_and_fined_once():
    sequences = [
        *(replace(TokenSequence.of(np.ones(6), [0, 1, 1, 1, 1, 0]), episode=3) for _ in range(2)),  # 8 tokens
        replace(TokenSequence.of(np.ones(6), [0, 1, 1, 1, 1, 0]), episode=4),
    ]
    updater = Updater(
        settings=UpdateSettings(overlong_cache_tokens=4, overlong_max_tokens=10), model=None, optimizers=None
    )
    shaped, added = updater.shape_rewards(pad(sequences), torch.zeros(3, 6))
    expected = torch.zeros(3, 6)
    expected[1, 4] = -0.5
    torch.testing.assert_close(shaped.rewards, expected)
    assert added == {"overlong": pytest.approx(-0.25)}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"kl_place": "rewards"}, "unknown kl_place 'rewards'; did you mean 'reward'"),
        ({"kl_from": "initially"}, "unknown kl_from 'initially'; did you mean 'initial'"),
        ({"kl_place": "reward", "kl_from": "old"}, "cost nothing; set kl_place to 'loss'"),
    ],
)
def test_a_divergence_that_would_not_be_there_is_refused(wrong, told):
    with pytest.raises(ConfigError, match=told):
        Updater(settings=UpdateSettings(kl_coef=0.1, **wrong), model=None, optimizers=None)


def test_the_proximal_policy_is_the_weighted_mean_of_all_before():
    layer = torch.nn.Linear(2, 1, bias=False)
    seen = [layer.weight.detach().clone()]
    proximal = Ewma(layer, decay=0.5)
    for value in (1.0, 4.0, -2.0):
        torch.nn.init.constant_(layer.weight, value)
        proximal.update(layer)
        seen.append(layer.weight.detach().clone())
        weights = [0.5 ** (len(seen) - 1 - index) for index in range(len(seen))]
        mean = sum(weight * each for weight, each in zip(weights, seen, strict=True)) / sum(weights)
        torch.testing.assert_close(proximal.model.weight, mean)
    again = Ewma(torch.nn.Linear(2, 1, bias=False), decay=0.5)
    again.load_state_dict(proximal.state_dict())
    for each in (proximal, again):
        each.update(layer)
    torch.testing.assert_close(again.model.weight, proximal.model.weight)
