"""What a rollout of trees tells of them."""

from types import SimpleNamespace

import pytest

from tests.rollout.trajectories import trajectory
from toolenvs.tokens import TokenTranscript
from toolenvs.train.rollouts.tree import Options, Rollout
from toolenvs.transcript import Author


def leaf(key, *, sampled_by=(), forged=0, ending="answer"):
    """Two turns of four tokens each, of which the policy forged some."""
    tokens = TokenTranscript()
    tokens.append_environment([5, 6], Author.PROMPT, 0)
    for turn in (1, 2):
        tokens.append_policy([7] * 4, [-0.5] * 4, turn, unscored=[(0, forged)] if forged else [])
        tokens.append_environment([8], Author.TOOL, turn)
    return trajectory(key=key, tokens=tokens, turn_rewards=(0.0, 1.0), sampled_by=sampled_by, ending=ending)


def test_what_the_policy_forged_was_sampled_by_no_other_leaf():
    leaves = [
        leaf("0", forged=3),
        leaf("0/0", sampled_by=("0", "0/0"), forged=1),
        leaf("0/1", ending="infrastructure", sampled_by=("0", "0/1")),
    ]
    rollout = Rollout(SimpleNamespace(agent=None, play=lambda count, act: leaves), Options())
    assert rollout.collect([None], n=1, seed=0) == leaves
    assert rollout.metrics() == {"leaves": 2, "shared_tokens": pytest.approx(4 / 16)}
    assert rollout.metrics() == {"leaves": 0, "shared_tokens": 0}
