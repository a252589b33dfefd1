"""`Info`: what `reset` and `step` tell beside the observation."""

from typing import TypedDict

from toolenvs.budget import Usage
from toolenvs.episode import Episode, ToolCall, Turn
from toolenvs.transcript import Transcript


class Info(TypedDict):
    """The `info` of every environment. The keys never change."""

    stop: tuple[str, ...]
    """Stop strings for the next generation; the string itself belongs to the action."""
    messages: list[dict[str, str]]
    """The conversation so far in chat form, as the policy reads it now."""
    transcript: Transcript
    """The same as segments that know their authors; what the page lets the policy forget stands there whole."""
    budget: dict[str, Usage]
    """For each limit, what is used and what is left."""
    calls: tuple[ToolCall, ...]
    """This turn's tool calls."""
    reward_terms: dict[str, float]
    """Named parts of the reward; they sum to it."""
    ending: str | None
    """Why the episode ended: "answer", "done" (a tool said that the task is over), "malformed" (all `terminated`),
    "turns", "calls", "length", "deadline", "infrastructure", and with the tool `gym` "actions" and "truncated" (all
    `truncated`); None while it runs."""
    success: bool | float | None
    """The task's raw correctness, before any shaping (0 to 1 where the judge grades); None while it runs and after an
    infrastructure failure.
    Gymnasium's own vector environments batch it as bools, with False for None, where environment 0 has ended."""
    metrics: dict[str, float]
    """What the judge measured beside success, by name, such as "injected" where pages try to instruct the agent; empty
    while the episode runs, and where the judge measures nothing else."""
    task: str
    """Id of the task."""
    fault: str | None
    """What failed, where the ending is "infrastructure"."""


def info(episode: Episode, turn: Turn) -> Info:
    """The info of an episode right after `turn`."""
    return {
        "stop": episode.stop,
        "messages": episode.messages,
        "transcript": episode.transcript,
        "budget": episode.usage(),
        "calls": turn.calls,
        "reward_terms": dict(turn.reward_terms),
        "ending": turn.ending,
        "success": episode.success,
        "metrics": dict(episode.metrics),
        "task": episode.task.id,
        "fault": turn.fault,
    }
