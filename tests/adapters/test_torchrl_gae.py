"""Our GAE against torchrl's, on ragged batches with observations in them: `make test-adapters` installs torchrl."""

from typing import Any

import pytest
import torch

from toolenvs.tokens import Mask
from toolenvs.train.advantages._tokens import PolicyTokens, advantages_and_returns

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]

FORMS = ("generalized_advantage_estimate", "vec_generalized_advantage_estimate")


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rewards, values and mask, [5, 12] in float64; one row has a single policy token, and one has none."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.randint(0, 3, (5, 12), generator=generator, dtype=torch.int8)
    mask[:, 0] = 0
    mask[0, 5] = 1
    mask[1], mask[2] = 0, 0
    mask[1, 7] = 1
    values, rewards = (torch.randn(5, 12, generator=generator, dtype=torch.float64) for _ in range(2))
    return torch.where(mask == Mask.POLICY, rewards, 0.0), values, mask


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("form", "gamma", "lam"),
    [
        *((form, *numbers) for form in FORMS for numbers in ((1.0, 1.0), (1.0, 0.95), (0.99, 0.9))),
        (FORMS[0], 0.9, 0.0),  # the other form fails at lambda 0
    ],
)
def test_gae_is_torchrls_over_the_policys_tokens(form: str, gamma: float, lam: float, seed: int) -> None:
    from torchrl.objectives.value import functional

    rewards, values, mask = batch(seed)
    advantages, returns = advantages_and_returns(rewards, values, PolicyTokens(mask), gamma=gamma, lam=lam)
    for row in range(len(mask)):
        own = torch.nonzero(mask[row] == Mask.POLICY)[:, 0]
        assert not advantages[row][mask[row] != Mask.POLICY].any()
        if not len(own):
            continue
        value = values[row, own]  # what torchrl sees is a plain trajectory, observations left out
        following = torch.cat([value[1:], value.new_zeros(1)])
        done = torch.zeros(len(own), 1, dtype=torch.bool)
        done[-1] = True
        exact = (torch.tensor(number, dtype=torch.float64) for number in (gamma, lam))  # as a float it is made float32
        alone = (one.reshape(1, -1, 1) for one in (value, following, rewards[row, own], done, done))
        expected: Any = getattr(functional, form)(*exact, *alone)
        for found, theirs in zip((advantages, returns), expected, strict=True):
            assert found[row, own].numpy() == pytest.approx(theirs.reshape(-1).numpy(), rel=1e-9, abs=1e-9)
