"""What an agent is asked, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from toolenvs.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One turn that an agent is asked for."""

    key: str
    """Identity of the episode."""
    task: Task
    """What the episode is about, gold included: for scripts; a policy must not look."""
    turn: int
    """Number of the turn, from 1."""
    text: str
    """The whole transcript, as the policy reads it now."""
    messages: list[dict[str, str]]
    """The same in chat form."""
    last_result: str
    """Result of the last tool call; "" where there is none."""
    calls: int = 0
    """Tool calls so far."""
    reading: bool = False
    """Whether the turn only reads what a tool gave, and nothing in it is called."""
    ids: Sequence[int] | None
    """The same in tokens, where the rollout knows a tokenizer."""
    stop: tuple[str, ...]
    max_new_tokens: int | None
    """What the page's budget leaves; None for no limit."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What an agent wrote: text, or the ids that it sampled."""

    text: str = ""
    """Ignored where `ids` are given."""
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] = ()
    """One for each id."""
    version: int = 0
    """Policy version that sampled the ids."""
    cut_short: bool = False
    """Generation ended at a length limit."""
    given: int = 0
    """How many of the first ids the policy was given instead of sampling them: they are neither scored nor judged."""
    prompt_tokens: int | None = None
    """Tokens that the agent read for this turn, as it counts them; None where it does not."""
    completion_tokens: int | None = None
    """Tokens that it wrote."""


class Agent(Protocol):
    """Whoever acts."""

    async def act(self, request: Request) -> Action:
        """Write one turn.

        Raises:
            InfrastructureError: no turn can be had; the episode ends without a reward.
            AgentError: no turn can be had, and the agent itself is to blame; the episode ends, and is not solved.
        """
        ...

    def release(self, key: str) -> None:
        """The episode of that key is over."""
        ...
