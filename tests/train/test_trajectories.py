from dataclasses import replace

import pytest

from tests.rollout.trajectories import trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.tokens import TokenTranscript
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.trajectories import reward_spread, sequences_of, shared_text, summary, trainable
from toolenvs.transcript import Author


def episode(group="0", success=1.0, ending="answer", rewards=(0.0, 1.0), sampled=2, status="ok", calls=1):
    tokens = TokenTranscript()
    tokens.append_environment([5, 6], Author.PROMPT, 0)
    for turn in (1, 2):
        tokens.append_policy([7] * sampled, [-0.5] * sampled, turn)
        tokens.append_environment([8], Author.TOOL, turn)
    call = CallRecord(turn=1, tool="python", arguments={}, result="", status=status, seconds=0.0)
    ended = {"turn_rewards": rewards, "ending": ending, "success": success}
    return trajectory(group=group, tokens=tokens, calls=(call,) * calls, **ended)


def test_a_sequence_carries_each_turn_s_reward_on_its_last_policy_token():
    [sequence] = sequences_of(episode(rewards=(0.25, 1.0)), group=3)
    assert sequence.mask.tolist() == [0, 0, 1, 1, 0, 1, 1, 0]
    assert sequence.rewards.tolist() == [0, 0, 0, 0.25, 0, 0, 1.0, 0]
    assert sequence.logprobs.tolist() == [0, 0, -0.5, -0.5, 0, -0.5, -0.5, 0]
    assert sequence.group == 3
    assert sequence.turns.tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert sequence.success == 1
    assert not sequence.cut_short


def test_a_sequence_knows_that_a_limit_on_length_cut_it():
    [sequence] = sequences_of(episode(ending="length", success=0.0))
    assert sequence.cut_short
    assert sequence.success == 0


def test_only_whole_episodes_with_sampled_tokens_are_trainable():
    assert trainable(episode())
    assert not trainable(episode(ending="infrastructure"))
    assert not trainable(episode(sampled=0, rewards=(0.0, 0.0)))


def test_the_summary_leaves_out_what_infrastructure_ended():
    made = [
        episode(success=1.0, rewards=(0.0, 1.0)),
        episode(success=0.0, rewards=(0.0, -1.0), status="error", calls=2),
        episode(success=0.0, rewards=(0.0, -1.0), ending="length", calls=0),
        episode(success=None, rewards=(0.0, 5.0), ending="infrastructure", calls=7),
    ]
    assert summary(made) == pytest.approx(
        {
            "success": 1 / 3,
            "reward": -1 / 3,
            "tool_use": 2 / 3,
            "failed_calls": 2 / 3,
            "turns": 2,
            "policy_tokens": 4,
            "cut_short": 1 / 3,
            "infrastructure": 1 / 4,
        }
    )


def test_what_was_helped_tells_nothing_of_what_the_policy_can():
    def alone(success, **changes):
        return replace(episode(success=success, rewards=(0.0, success)), **changes)

    failing = [alone(0.0), alone(0.0, task="u", group="1")]
    helped = [alone(1.0, guidance="removed hint"), alone(1.0, task="u", group="1", guidance="prefix")]
    told = summary([*failing, *helped])
    assert (told["success"], told["helped"], told["reward"]) == (0.0, 0.5, 0.5)
    assert "helped" not in summary(failing)
    assert "success" not in summary(helped)
    assert summary(helped)["helped"] == 1.0
    assert reward_spread([*failing, *failing, *helped]) == reward_spread([*failing, *failing]) == {"reward_spread": 0.0}
    assert reward_spread(helped) == shared_text(helped) == {}
    assert shared_text([*failing, *helped]) == shared_text(failing) == {"shared_text": 1.0}


def test_only_numbers_of_the_prompt_that_is_trained_on_measure_the_engine():
    for guidance, off_policy in [("", False), ("hint", False), ("prefix", False), ("removed hint", True)]:
        [sequence] = sequences_of(replace(episode(), guidance=guidance))
        assert sequence.off_policy == off_policy


def test_the_sampler_takes_every_task_once_an_epoch_and_goes_on_from_any_position():
    whole = TaskSampler(7, seed=3).take(21)
    assert all(sorted(whole[start : start + 7]) == list(range(7)) for start in (0, 7, 14))
    assert whole[:7] != whole[7:14]
    for position in range(21):
        assert TaskSampler(7, seed=3, position=position).take(21 - position) == whole[position:]
    assert TaskSampler(7, seed=4).take(21) != whole
