"""What an evaluation measured of one page, with its uncertainty.

Everything but `infrastructure`, `retried`, tokens and cost leaves out what infrastructure ended.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from toolenvs.budget import Limits, Meter
from toolenvs.episode import SPENT
from toolenvs.evaluation.statistics import bootstrap, grouped, interval, mean, quantiles
from toolenvs.filtering import pass_at_k
from toolenvs.rollout import Trajectory
from toolenvs.rollout.collect import AGENT

SOLVED = 1.0
"""Correctness from which a try counts as solved for pass@k, where the judge grades."""
_OF_ONE_TURN = ("turn_tokens", "observation_chars")
"""Budgets whose use is of the last turn alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What tokens cost, in US dollars per million."""

    prompt: float = 0.0
    completion: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """Of one tool."""

    calls: int
    """That were run."""
    statuses: Mapping[str, int]
    """Calls by status, the commonest first: "ok", a word of the tool's own for what went wrong, "spent" for those that
    no budget was left for."""
    seconds: Mapping[str, float] | None
    """"p50" and "p95" of a call, wall-clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """Of one limit."""

    limit: float
    mean_share: float
    """Mean over episodes of how much of it was used, 0 to 1."""
    p95_share: float
    spent: float
    """Share of episodes that used all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Of one page. Means are None where no episode is left to take them over."""

    tasks: int
    """Tasks with at least one episode that infrastructure did not end."""
    episodes: int
    """Episodes that infrastructure did not end."""
    infrastructure: int
    """Tries that infrastructure ended to the last; they count nowhere else, least of all as wrong."""
    retried: int
    """Episodes that infrastructure ended and that were made again."""
    agent_failures: int
    """Episodes that ended as "agent", since it gave no turn by its own fault; they count as wrong."""
    success: float | None
    """Mean over tasks of the mean raw correctness of a task's episodes."""
    success_95: tuple[float, float] | None
    """Interval that holds the true mean about 95 times in 100; see `statistics.interval`."""
    pass_at_k: Mapping[str, tuple[float, float, float]]
    """By k, from 1 to n: the chance that at least one of k tries solves a task, without bias, as a mean over the tasks
    with k tries, and its 95 % bootstrap interval over tasks."""
    metrics: Mapping[str, float]
    """Mean of what the judge measured beside success, by name, over the episodes in which it did."""
    reward: float | None
    """Mean return."""
    turns: float | None
    """Mean turns of an episode."""
    calls: float | None
    """Mean tool calls of an episode."""
    failed_calls: float | None
    """Share of tool calls whose status is not "ok"; None without calls."""
    called: float | None
    """Share of episodes with at least one call that was run."""
    tools: Mapping[str, ToolUse]
    budgets: Mapping[str, BudgetUse]
    """Of each limit that the page has; token limits where the agent's tokens are known."""
    seconds: float | None
    """Mean wall-clock seconds of an episode."""
    agent_seconds: Mapping[str, float] | None
    """"p50" and "p95" of a turn of the agent, wall-clock, tools apart."""
    tool_seconds: Mapping[str, float] | None
    """"p50" and "p95" of a tool call."""
    prompt_tokens: int | None
    """That the agent read, all turns of all episodes together; None where it does not count them."""
    completion_tokens: int | None
    """That it wrote."""
    cost_usd: float | None
    """At the given prices; None without prices or tokens."""
    endings: Mapping[str, int] = field(default_factory=dict)
    """Episodes by ending, the commonest first."""


def measure(
    trajectories: Iterable[Trajectory],
    n: int,
    *,
    retried: Iterable[Trajectory] = (),
    limits: Limits | None = None,
    prices: Prices | None = None,
) -> Measures:
    """The measures of a page with `n` episodes of each task.

    Args:
        trajectories: the last attempt at each try.
        n: tries of each task.
        retried: attempts that infrastructure ended and that were made again; their tokens are paid for too.
        limits: the page's, for what was used of them.
        prices: of tokens.
    """
    groups: dict[str, list[Trajectory]] = {}
    failed = []
    for trajectory in trajectories:
        if trajectory.failed:
            failed.append(trajectory)
        else:
            groups.setdefault(trajectory.group, []).append(trajectory)
    again = list(retried)
    whole = [trajectory for members in groups.values() for trajectory in members]
    correct = [[member.success or 0.0 for member in members] for members in groups.values()]
    means = [sum(values) / len(values) for values in correct]
    statuses = [call.status == "ok" for trajectory in whole for call in trajectory.calls]
    prompt, completion = (_tokens([*whole, *failed, *again], name) for name in ("prompt_tokens", "completion_tokens"))
    return Measures(
        tasks=len(groups),
        episodes=len(whole),
        infrastructure=len(failed),
        retried=len(again),
        agent_failures=sum(trajectory.ending == AGENT for trajectory in whole),
        success=mean(means),
        success_95=interval(means, len(whole)) if means else None,
        pass_at_k=_pass_rates(correct, n),
        metrics={
            name: sum(found) / len(found)
            for name, found in grouped([pair for each in whole for pair in each.metrics.items()]).items()
        },
        reward=mean([trajectory.reward for trajectory in whole]),
        turns=mean([len(trajectory.turn_rewards) for trajectory in whole]),
        calls=mean([len(trajectory.calls) for trajectory in whole]),
        failed_calls=None if not statuses else 1 - sum(statuses) / len(statuses),
        called=mean([any(call.status != SPENT for call in trajectory.calls) for trajectory in whole]),
        tools=_tools(whole),
        budgets={} if limits is None else _budgets(whole, limits),
        seconds=mean([trajectory.seconds for trajectory in whole]),
        agent_seconds=quantiles([seconds for trajectory in whole for seconds in trajectory.agent_seconds]),
        tool_seconds=quantiles([call.seconds for each in whole for call in each.calls if call.status != SPENT]),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost(prompt, completion, prices),
        endings=dict(Counter(trajectory.ending for trajectory in whole).most_common()),
    )


def cost(prompt: int | None, completion: int | None, prices: Prices | None) -> float | None:
    """US dollars; None without prices, or without tokens."""
    if prices is None or prompt is None or completion is None:
        return None
    return (prompt * prices.prompt + completion * prices.completion) / 1e6


def pass_rates_of(correct: list[float], k: int) -> float:
    """pass@k of one task, from the correctness of its tries."""
    return pass_at_k(sum(value >= SOLVED for value in correct), len(correct), k)


def _pass_rates(correct: list[list[float]], n: int) -> dict[str, tuple[float, float, float]]:
    rates = {}
    for k in range(1, n + 1):
        values = [pass_rates_of(tries, k) for tries in correct if len(tries) >= k]
        if values:
            rates[str(k)] = (sum(values) / len(values), *bootstrap([values]))
    return rates


def _tools(whole: list[Trajectory]) -> dict[str, ToolUse]:
    calls = [call for trajectory in whole for call in trajectory.calls]
    return {
        tool: ToolUse(
            calls=sum(call.tool == tool and call.status != SPENT for call in calls),
            statuses=dict(Counter(call.status for call in calls if call.tool == tool).most_common()),
            seconds=quantiles([call.seconds for call in calls if call.tool == tool and call.status != SPENT]),
        )
        for tool in sorted({call.tool for call in calls})
    }


def _budgets(whole: list[Trajectory], limits: Limits) -> dict[str, BudgetUse]:
    found = {}
    for name, usage in Meter(limits).usage().items():
        in_tokens = name.endswith("_tokens")
        known = [each for each in whole if name in each.usage and (each.tokens is not None or not in_tokens)]
        if not usage.left or name in _OF_ONE_TURN or not known:
            continue
        shares = [min(trajectory.usage[name] / usage.left, 1.0) for trajectory in known]
        found[name] = BudgetUse(
            limit=usage.left,
            mean_share=sum(shares) / len(shares),
            p95_share=(quantiles(shares) or {})["p95"],
            spent=sum(share >= 1 for share in shares) / len(shares),
        )
    return found


def _tokens(made: list[Trajectory], name: str) -> int | None:
    """Tokens of all episodes in which the agent was asked; None where one of them is not counted."""
    counts = [getattr(trajectory, name) for trajectory in made if trajectory.agent_seconds]
    return sum(counts) if counts and None not in counts else None
