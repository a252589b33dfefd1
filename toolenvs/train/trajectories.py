"""From trajectories to what is trained on and what is reported."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from toolenvs.episode import TERMINATED
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence


def trainable(trajectory: Trajectory) -> bool:
    """Whether something can be learned from it: infrastructure did not end it, and the policy sampled a token."""
    return not trajectory.failed and trajectory.tokens is not None and Mask.POLICY in trajectory.tokens.mask


def sequence_of(trajectory: Trajectory, group: int = 0) -> TokenSequence:
    """The tokens of a trainable trajectory with their rewards, each on the last policy token of its turn."""
    tokens = trajectory.tokens
    if tokens is None:
        raise ValueError(f"trajectory {trajectory.key!r} has no tokens; its environment was built without a tokenizer")
    return TokenSequence(
        ids=tokens.ids,
        mask=tokens.mask,
        logprobs=tokens.logprobs,
        rewards=tokens.token_rewards(trajectory.turn_rewards),
        group=group,
    )


def informative_groups(trajectories: Sequence[Trajectory]) -> list[list[Trajectory]]:
    """The groups that a group-wise estimator can learn from: at least two trainable members, of unlike correctness.

    Raw correctness decides, not the reward: a shaping term would let a group through in which all are equally right
    (Yu et al. 2025, "DAPO", dynamic sampling).
    """
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in filter(trainable, trajectories):
        groups.setdefault(trajectory.group, []).append(trajectory)
    return [members for members in groups.values() if len({member.success for member in members}) > 1]


def summary(trajectories: Sequence[Trajectory]) -> Mapping[str, float]:
    """What a batch of rollouts looked like. Everything but `infrastructure` leaves out what infrastructure ended.

    Returns:
        success: mean raw correctness.
        reward: mean return.
        tool_use: share of episodes with at least one tool call.
        failed_calls: share of tool calls whose status is not "ok".
        turns, policy_tokens: means over episodes.
        cut_short: share of episodes that a budget ended.
        infrastructure: share of all episodes that infrastructure ended.
    """
    whole = [trajectory for trajectory in trajectories if not trajectory.failed]
    calls = Counter(call.status == "ok" for trajectory in whole for call in trajectory.calls)
    cut = [trajectory.ending not in TERMINATED for trajectory in whole]
    tokens = [int((trajectory.tokens.mask == Mask.POLICY).sum()) for trajectory in whole if trajectory.tokens]
    return {
        "success": _mean([float(trajectory.success or 0.0) for trajectory in whole]),
        "reward": _mean([trajectory.reward for trajectory in whole]),
        "tool_use": _mean([float(bool(trajectory.calls)) for trajectory in whole]),
        "failed_calls": calls[False] / max(calls.total(), 1),
        "turns": _mean([float(len(trajectory.turn_rewards)) for trajectory in whole]),
        "policy_tokens": _mean([float(count) for count in tokens]),
        "cut_short": _mean([float(value) for value in cut]),
        "infrastructure": 1 - len(whole) / max(len(trajectories), 1),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
