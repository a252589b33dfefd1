"""From trajectories to what is trained on and what is reported."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolenvs.episode import TERMINATED
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tokens import Mask, TokenTranscript
from toolenvs.train.batching import TokenSequence

_ENVIRONMENT = int(Mask.ENVIRONMENT)
REMOVED_HINT = "removed hint"
"""The `guidance` of an episode that was sampled with a hint and is trained on without."""


def trainable(trajectory: Trajectory) -> bool:
    """Whether something can be learned from it: infrastructure did not end it, and the policy sampled a token."""
    return not trajectory.failed and any(tokens.policy_tokens for tokens in trajectory.sequences)


def sequences_of(
    trajectory: Trajectory, group: int = 0, episode: int | None = None, nodes: Sequence[int] = ()
) -> list[TokenSequence]:
    """The sequences of a trainable trajectory: one, or several where its page lets the policy forget.

    Each reward stands once, on the last policy token of its turn.

    Args:
        trajectory: a finished episode.
        group: number of the group that it is compared within.
        episode: number of the episode, which all of its sequences share; None where it is one sequence only.
        nodes: the node of a tree that each turn is, by its number, 0 before the first; none where there is no tree.

    Raises:
        ValueError: it holds no tokens, or several sequences and `episode` is None.
    """
    if trajectory.tokens is None:
        raise ValueError(f"trajectory {trajectory.key!r} has no tokens; its environment was built without a tokenizer")
    trained = [tokens for tokens in trajectory.sequences if tokens.policy_tokens]
    if episode is None and len(trained) > 1:
        raise ValueError(f"trajectory {trajectory.key!r} makes {len(trained)} sequences: number its episode")
    rewards = [[0.0] * len(trajectory.turn_rewards) for _ in trained]
    starts = [_first_turn(tokens) for tokens in trained[1:]]
    for turn, reward in enumerate(trajectory.turn_rewards if trained else (), start=1):
        rewards[bisect_right(starts, turn)][turn - 1] = reward
    node_of = np.array(nodes, dtype=np.int64)
    sequences = []
    for tokens, own in zip(trained, rewards, strict=True):
        mask, turns = tokens.mask, turns_of(tokens)
        written = turns * (mask != _ENVIRONMENT)  # what the environment wrote is of no node
        sequences.append(
            TokenSequence(
                ids=tokens.ids,
                mask=mask,
                logprobs=tokens.logprobs,
                rewards=tokens.token_rewards(own),
                group=group,
                episode=episode,
                turns=turns,
                nodes=node_of[written] if len(node_of) else node_of,
                success=trajectory.success or 0.0,
                cut_short=trajectory.ending == "length",
                off_policy=trajectory.guidance == REMOVED_HINT,
            )
        )
    return sequences


def sequences_of_groups(groups: Sequence[Sequence[Trajectory]]) -> list[TokenSequence]:
    """The sequences of all episodes of all groups, numbered from 0.

    Their nodes are turns: the branches of a tree have those in common that were sampled in one of them for all.
    """
    members = [(group, member) for group, members in enumerate(groups) for member in members]
    nodes: dict[tuple[int, str, int], int] = {}
    sequences = []
    for episode, (group, member) in enumerate(members):
        owners = member.sampled_by or (member.key,) * len(member.turn_rewards)
        of_turn = [nodes.setdefault((group, owner, turn), len(nodes) + 1) for turn, owner in enumerate(owners, start=1)]
        sequences += sequences_of(member, group, episode, [0, *of_turn])
    return sequences


def turns_of(tokens: TokenTranscript) -> NDArray[np.int64]:
    """The policy's turn that each token is of, from 1; 0 in the prompt. # [T]"""
    turns = np.zeros(len(tokens), dtype=np.int64)
    for span in tokens.spans:
        turns[span.start : span.end] = span.turn
    return turns


def _first_turn(tokens: TokenTranscript) -> int:
    """The first turn that is trained on in this sequence."""
    first = int(np.argmax(tokens.mask == Mask.POLICY))
    return next(span.turn for span in tokens.spans if span.end > first)


def summary(trajectories: Sequence[Trajectory]) -> Mapping[str, float]:
    """What a batch of rollouts looked like. Everything but `infrastructure` leaves out what infrastructure ended.

    Returns:
        success: mean raw correctness of episodes without help; left out where every episode was helped.
        helped: share of episodes that were helped (`guidance`); left out where there is none.
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
    tokens = [sum(tokens.policy_tokens for tokens in trajectory.sequences) for trajectory in whole if trajectory.tokens]
    alone = [float(trajectory.success or 0.0) for trajectory in _alone(whole)]
    success = {"success": _mean(alone)} if alone or not whole else {}
    helped = {"helped": 1 - len(alone) / len(whole)} if len(alone) < len(whole) else {}
    return {
        **success,
        "reward": _mean([trajectory.reward for trajectory in whole]),
        "tool_use": _mean([float(bool(trajectory.calls)) for trajectory in whole]),
        "failed_calls": calls[False] / max(calls.total(), 1),
        "turns": _mean([float(len(trajectory.turn_rewards)) for trajectory in whole]),
        "policy_tokens": _mean([float(count) for count in tokens]),
        "cut_short": _mean([float(value) for value in cut]),
        "infrastructure": 1 - len(whole) / max(len(trajectories), 1),
        **helped,
    }


def _alone(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Those that tell what the policy can do without help, and infrastructure did not end."""
    return [trajectory for trajectory in trajectories if not trajectory.failed and not trajectory.guidance]


def reward_spread(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """`reward_spread`: standard deviation of the return within a group, its mean over groups; empty without groups.

    What infrastructure ended or was helped is left out, and so is a group that keeps fewer than two episodes.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for trajectory in _alone(trajectories):
        groups.setdefault((trajectory.task, trajectory.group), []).append(trajectory.reward)
    spreads = [float(np.std(rewards)) for rewards in groups.values() if len(rewards) > 1]
    return {"reward_spread": _mean(spreads)} if spreads else {}


def shared_text(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """`shared_text`: share of episodes whose policy wrote exactly what it wrote for another task; empty for one task.

    What infrastructure ended or was helped is left out.
    """
    whole = _alone(trajectories)
    tasks: dict[str, set[str]] = {}
    for trajectory in whole:
        tasks.setdefault(trajectory.transcript.policy_text(), set()).add(trajectory.task)
    if len({trajectory.task for trajectory in whole}) < 2:
        return {}
    return {"shared_text": _mean([float(len(tasks[one.transcript.policy_text()]) > 1) for one in whole])}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
