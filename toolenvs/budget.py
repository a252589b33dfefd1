"""Budgets: named limits with units, what each has used, and how an observation is cut to fit."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from toolenvs.schema import at_least

WhenSpent = Literal["free_text", "last_turn", "end", "notice", "truncate"]
Keep = Literal["head", "tail", "middle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The keys of `[budget]`. None means no limit; 0 means none at all.

    Raises:
        ValueError: a limit is negative or not a number.
    """

    max_turns: int | None = None
    """Generations of the policy."""
    max_calls: int | None = None
    """Tool calls that are run, all tools together."""
    max_calls_per_tool: Mapping[str, int] = field(default_factory=dict)
    """Tool calls that are run, by tool."""
    max_turn_tokens: int | None = None
    """Tokens that the policy may sample in one turn. Token limits bind where the episode knows a tokenizer."""
    max_response_tokens: int | None = None
    """Tokens after the prompt, the environment's included. An observation that just fits is kept."""
    max_input_tokens: int | None = None
    """Tokens that the policy is given to read for a turn, from the prompt on. An observation that just fits is kept."""
    max_turn_chars: int | None = None
    """Characters that the policy may write in one turn."""
    max_observation_tokens: int | None = None
    """Tokens of one observation's content, its wrapper not counted."""
    max_observation_chars: int | None = None
    """Characters of one observation's content, its wrapper not counted."""
    deadline_s: float | None = None
    """Wall-clock seconds from the first turn to the last."""
    keep: Keep = "head"
    """Which part of an observation that is too long is kept."""
    ellipsis: str = "..."
    """What stands where an observation was cut."""
    when_spent: WhenSpent = "end"
    """What happens when turns or calls are spent:
    `free_text` (ToRL): no more stop strings, the policy writes on to its end and no call is run;
    `last_turn` (Search-R1): one more generation, in which a call is not run;
    `end` (DeepResearcher): the turn that asks for more ends the episode;
    `notice`: a call past the budget is answered by a note, and the policy may still answer;
    `truncate` (RAGEN): the episode ends as soon as the budget is spent.
    Under `free_text`, a call of a tool whose own calls are spent is answered by the note while other tools have calls
    left."""
    notice: str = "No {what} left. Give the final answer now."
    """The note of `notice`; `{what}` is the spent limit."""
    turns_left: str = ""
    """A note at the end of every other observation, inside its wrapper; `{turns}` is how many turns are left."""

    def __post_init__(self) -> None:
        at_least(
            0,
            max_turns=self.max_turns,
            max_turn_tokens=self.max_turn_tokens,
            max_response_tokens=self.max_response_tokens,
            max_input_tokens=self.max_input_tokens,
            max_calls=self.max_calls,
            max_turn_chars=self.max_turn_chars,
            max_observation_tokens=self.max_observation_tokens,
            max_observation_chars=self.max_observation_chars,
            deadline_s=self.deadline_s,
            **{f"max_calls_per_tool.{tool}": limit for tool, limit in self.max_calls_per_tool.items()},
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """One limit as it stands."""

    used: float
    left: float | None
    """None where there is no limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Elapsed(Usage):
    """Usage of wall-clock time. Any two are equal, since equal episodes need not take equally long."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elapsed)

    def __hash__(self) -> int:
        return hash(Elapsed)


class Meter:
    """What one episode has used of its limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.turns = 0
        self.calls = 0
        self.calls_per_tool: dict[str, int] = {}
        self.response_chars = 0
        self.response_tokens = 0
        self.prompt_tokens = 0
        self.turn_tokens = 0
        self.observation_chars = 0
        self.grace = False
        """True once the turns are spent and `last_turn`, `free_text` or `notice` has granted one generation more."""
        self._clock = clock
        self._started_s: float | None = None

    def start_turn(self) -> None:
        """Count one generation; the clock starts at the first."""
        self.turns += 1
        if self._started_s is None:
            self._started_s = self._clock()

    def count_call(self, tool: str) -> None:
        """Count one call that is run."""
        self.calls += 1
        self.calls_per_tool[tool] = self.calls_per_tool.get(tool, 0) + 1

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds since the first turn."""
        return 0.0 if self._started_s is None else self._clock() - self._started_s

    @property
    def overdue(self) -> bool:
        """True where the deadline has passed."""
        return self.limits.deadline_s is not None and self.elapsed_s > self.limits.deadline_s

    @property
    def turns_spent(self) -> bool:
        """True where the policy has had all its turns."""
        return self.limits.max_turns is not None and self.turns >= self.limits.max_turns

    def calls_spent(self, tool: str | None = None) -> bool:
        """True where no call is left, or none of `tool`."""
        if self.limits.max_calls is not None and self.calls >= self.limits.max_calls:
            return True
        return tool is not None and self.calls_per_tool.get(tool, 0) >= self.limits.max_calls_per_tool.get(
            tool, self.calls_per_tool.get(tool, 0) + 1
        )

    def tokens_left(self) -> int | None:
        """How many tokens the next turn may have; None where tokens are not limited."""
        limits = self.limits
        left = [] if limits.max_turn_tokens is None else [limits.max_turn_tokens]
        if limits.max_response_tokens is not None:
            left.append(max(limits.max_response_tokens - self.response_tokens, 0))
        return min(left, default=None)

    def usage(self) -> dict[str, Usage]:
        """Each limit by name: used and left."""
        limits = self.limits
        usage = {
            "turns": _usage(self.turns, limits.max_turns),
            "calls": _usage(self.calls, limits.max_calls),
            "turn_tokens": _usage(self.turn_tokens, limits.max_turn_tokens),
            "response_tokens": _usage(self.response_tokens, limits.max_response_tokens),
            "response_chars": Usage(self.response_chars, None),
            "observation_chars": Usage(
                self.observation_chars, _left(self.observation_chars, limits.max_observation_chars)
            ),
        }
        for tool, limit in limits.max_calls_per_tool.items():
            usage[f"calls_{tool}"] = _usage(self.calls_per_tool.get(tool, 0), limit)
        if limits.max_input_tokens is not None:
            usage["input_tokens"] = _usage(self.prompt_tokens + self.response_tokens, limits.max_input_tokens)
        elapsed_s = self.elapsed_s
        usage["seconds"] = Elapsed(elapsed_s, _left(elapsed_s, limits.deadline_s))
        return usage


@lru_cache(1024, typed=True)
def _usage(used: float, limit: float | None) -> Usage:
    """Kept: of turns, calls and tokens the same few come again."""
    return Usage(used, _left(used, limit))


def _left(used: float, limit: float | None) -> float | None:
    return None if limit is None else max(limit - used, 0)


def cut(text: str, limit: int, keep: Keep, ellipsis: str = "...") -> str:
    """`text` cut to about `limit` characters, named by the part that is kept.

    As the published systems count, `limit` is of the text that is kept: `middle` cut at 400 keeps 200 characters of
    the head, the ellipsis, and 200 of the tail. A text of exactly `limit` characters is not cut.
    """
    if len(text) <= limit:
        return text
    if keep == "head":
        return text[:limit] + ellipsis
    if keep == "tail":
        return ellipsis + text[len(text) - limit :]
    head = limit - limit // 2
    return text[:head] + ellipsis + text[len(text) - limit // 2 :]


def cut_tokens(text: str, limit: int, keep: Keep, ellipsis: str, count: Callable[[str], int]) -> str:
    """`text` cut so that `count` of it, the ellipsis included, is at most `limit`; "" where nothing fits."""
    if count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:  # the greatest number of kept characters that fits; counting is nearly monotone in it
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(cut(text, middle, keep, ellipsis)) <= limit else (low, middle - 1)
    while low > 0 and count(cut(text, low, keep, ellipsis)) > limit:
        low -= 1
    shortest = cut(text, low, keep, ellipsis)
    return shortest if count(shortest) <= limit else ""
