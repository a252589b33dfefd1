"""Finished episodes as a rollout leaves them."""

import pytest

from tests.rollout.trajectories import trajectory
from toolenvs.tokens import TokenTranscript
from toolenvs.transcript import Author


def make_episode(
    task="t",
    success=1.0,
    *,
    reward=None,
    version=0,
    logprob=-0.5,
    ending="answer",
    sequences=1,
    group=None,
    key="0",
    stem=None,
):
    def tokens(number):
        made = TokenTranscript()
        made.append_environment([5, 6 + number], Author.PROMPT, 0)
        made.append_policy([7, 8], [logprob, logprob / 2], 1, version=version)
        if stem is not None:
            made.append_policy([9], [logprob], 2, version=version)
        return made

    return trajectory(
        key=key,
        group=task if group is None else group,
        task=task,
        tokens=tokens(sequences - 1),
        earlier=tuple(map(tokens, range(sequences - 1))),
        turn_rewards=(0.0,) * (stem is not None) + (success if reward is None else reward,),
        sampled_by=() if stem is None else (stem, key),
        ending=ending,
        success=None if ending == "infrastructure" else success,
    )


@pytest.fixture(scope="session")
def episode():
    """`episode("task", 1.0, version=3)`: a trajectory of one turn of two tokens."""
    return make_episode
