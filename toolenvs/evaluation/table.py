"""Measures in words: a row a page, or a line a measure."""

from collections.abc import Mapping
from typing import Any

from toolenvs.evaluation.measures import Measures

COLUMNS = (
    "page", "success", "95 %", "pass@n", "reward", "turns", "calls", "failed", "agent s", "tool s", "tokens", "USD",
    "agent failures", "infrastructure", "episodes",
)  # fmt: skip
"""Of a table with a row a page. Seconds are p50 / p95 of a turn and of a call; tokens are read + written."""
_OPTIONAL = ("pass@n", "tokens", "USD")
"""Left out where no row has them."""
_PASS_AT = (1, 2, 5, 10)


def rows(pages: Mapping[str, Measures], total: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The columns and a row a page, and one of all together where there are several."""
    made = [_row(name, measures) for name, measures in pages.items()]
    if len(pages) > 1:
        made.append(_total(total))
    shown = [column for column in COLUMNS if column not in _OPTIONAL or any(row[column] for row in made)]
    return shown, [[row[column] for column in shown] for row in made]


def markdown(pages: Mapping[str, Measures], total: Mapping[str, Any]) -> str:
    """The table in Markdown."""
    columns, made = rows(pages, total)
    lines = [columns, ["---"] * len(columns), *made]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, measures: Measures) -> dict[str, str]:
    rates = list(measures.pass_at_k.values())
    return {
        "page": name,
        "success": figure(measures.success),
        "95 %": _interval(measures.success_95),
        "pass@n": f"{rates[-1][0]:.3f}" if len(rates) > 1 else "",
        "reward": figure(measures.reward),
        "turns": figure(measures.turns, 2),
        "calls": figure(measures.calls, 2),
        "failed": "-" if measures.failed_calls is None else f"{measures.failed_calls:.1%}",
        "agent s": seconds(measures.agent_seconds),
        "tool s": seconds(measures.tool_seconds),
        "tokens": tokens(measures.prompt_tokens, measures.completion_tokens),
        "USD": "" if measures.cost_usd is None else f"{measures.cost_usd:.4f}",
        "agent failures": str(measures.agent_failures),
        "infrastructure": str(measures.infrastructure),
        "episodes": str(measures.episodes),
    }


def _total(total: Mapping[str, Any]) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, "") | {
        "page": "all",
        "success": figure(total["success"]),
        "95 %": _interval(total["success_95"]),
        "agent s": seconds(total["agent_seconds"]),
        "tool s": seconds(total["tool_seconds"]),
        "tokens": tokens(total["prompt_tokens"], total["completion_tokens"]),
        "USD": "" if total["cost_usd"] is None else f"{total['cost_usd']:.4f}",
        "agent failures": str(total["agent_failures"]),
        "infrastructure": str(total["infrastructure"]),
        "episodes": str(total["episodes"]),
    }


def lines(result: Measures, n: int) -> list[tuple[str, str]]:
    """A line a measure, of one page."""
    told = [("success", _success(result))]
    for k in sorted({*_PASS_AT, n} - {1}):
        if (rate := result.pass_at_k.get(str(k))) is not None:
            told.append((f"pass@{k}", f"{rate[0]:.3f}  (95 %: {rate[1]:.3f} to {rate[2]:.3f})"))
    told += [(name, figure(value)) for name, value in result.metrics.items()]
    failed = "" if result.failed_calls is None else f" ({result.failed_calls:.1%} failed)"
    told += [
        ("reward per episode", figure(result.reward)),
        ("turns per episode", figure(result.turns, 2)),
        ("calls per episode", figure(result.calls, 2) + failed),
    ]
    for tool, use in result.tools.items():
        words = ", ".join(f"{status} {count}" for status, count in use.statuses.items())
        told.append((f"tool {tool}", f"{words}; {seconds(use.seconds)} s"))
    for name, used in result.budgets.items():
        share = f"{used.mean_share:.0%} of {used.limit:g} on average, {used.p95_share:.0%} at p95"
        told.append((f"budget {name}", f"{share}, spent in {used.spent:.1%} of episodes"))
    told += [
        ("seconds per episode", figure(result.seconds, 2)),
        ("agent's seconds per turn", seconds(result.agent_seconds)),
        ("tool's seconds per call", seconds(result.tool_seconds)),
    ]
    if read := tokens(result.prompt_tokens, result.completion_tokens):
        told.append(("tokens read + written", read))
    if result.cost_usd is not None:
        told.append(("cost in USD", f"{result.cost_usd:.4f}"))
    again = f" ({result.retried} episodes were made again)" if result.retried else ""
    return [
        *told,
        ("endings", ", ".join(f"{name} {count}" for name, count in result.endings.items()) or "-"),
        ("episodes", f"{result.episodes} of {result.tasks} tasks"),
        ("agent failures", str(result.agent_failures)),
        ("infrastructure failures", f"{result.infrastructure}{again}"),
    ]


def _success(result: Measures) -> str:
    if result.success is None or result.success_95 is None:
        return "- (infrastructure ended every episode)"
    low, high = result.success_95
    return f"{result.success:.3f}  (95 %: {low:.3f} to {high:.3f})"


def _interval(bounds: Any) -> str:
    return "-" if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def figure(value: Any, digits: int = 3) -> str:
    """A number, or a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def seconds(found: Any) -> str:
    """p50 / p95, or a dash for None."""
    return "-" if found is None else f"{found['p50']:.2g} / {found['p95']:.2g}"


def tokens(prompt: int | None, completion: int | None) -> str:
    """Tokens read and written, or "" where they are not known."""
    return "" if prompt is None or completion is None else f"{prompt:,} + {completion:,}"
