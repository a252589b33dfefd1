"""Random courses of MiniWoB-v0's tool, each played twice: whether they are the same, whether a page breaks, and what
luck earns.

    python benchmarks/miniwob_twice.py --seeds 2               # the pages that MiniWoB-v0 draws from by default
    python benchmarks/miniwob_twice.py --seeds 1 --pages all   # all of the package

A course is up to 14 calls of random actions with random arguments, wild ones among them: numbers that no element has,
points anywhere, keys that reload or leave the page in a browser with a window, texts with line breaks and half
characters.
"""

import argparse
import asyncio
import difflib
import random
from collections.abc import Callable
from typing import Any

from toolenvs.errors import ToolError, WebError
from toolenvs.tasks.generators.miniwob import TEXT
from toolenvs.tasks.task import Task
from toolenvs.tools.miniwob import Options, Tool
from toolenvs.web.chromium.miniwob import tasks

CALLS = 14
KEYS = [
    "Enter", "Tab", "Escape", "ArrowDown", "Backspace", "Control+A", "Control+C", "Control+V", "F5", "Alt+ArrowLeft",
    "Control+W", "Space",
]  # fmt: skip
TEXTS = ["a", "12", "x\ny", "05/06/2020", "é😀\ud800", ""]
ACTIONS = {
    "look": [], "click": ["element"], "type": ["element", "text"], "select": ["element", "choices"], "press": ["keys"],
    "xy": ["x", "y"], "hover": ["x", "y"], "drag": ["x", "y", "to_x", "to_y"], "scroll": ["element", "down"],
    "wait": [],
}  # fmt: skip


def call(draws: random.Random, elements: int) -> dict[str, Any]:
    """A random call on a page of so many elements."""
    ways: dict[str, Callable[[], Any]] = {
        "element": lambda: draws.randrange(elements + 2),
        "text": lambda: draws.choice(TEXTS),
        "choices": lambda: ["a"],
        "keys": lambda: draws.choice(KEYS),
    }
    action = draws.choice(list(ACTIONS))
    return {"action": action} | {name: ways.get(name, lambda: draws.uniform(-5, 275))() for name in ACTIONS[action]}


async def course(tool: Tool, page: str, seed: int) -> tuple[list[str], float | None]:
    """What each call said, and the score at the end; None where the page did not end."""
    draws = random.Random(f"{page} {seed}")
    session = await tool.open(Task(id="t", question="", extra={"page": page, "seed": seed}), seed=0, progress=0.0)
    said: list[str] = []
    try:
        for _ in range(CALLS):
            try:
                result = await session.call(call(draws, said[-1].count("\n") if said else 1))
            except ToolError as error:
                said.append(str(error))
                continue
            said.append(f"{result.status} {result.reward} {result.score}\n{result.text}")
            if result.ended:
                return said, result.score
        return said, None
    finally:
        await session.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--pages", choices=("text", "all"), default="text")
    given = parser.parse_args()
    tool = Tool(Options(timeout_s=120.0))
    pages = TEXT if given.pages == "text" else tasks()
    different, broken, scores = 0, 0, []
    for page in pages:
        for seed in range(given.seeds):
            try:
                (first, score), (second, _) = await course(tool, page, seed), await course(tool, page, seed)
            except WebError as error:
                broken += 1
                print(f"{page}, seed {seed}: broken: {error}")
                continue
            scores.append(score)
            if first != second:
                different += 1
                one, other = next(pair for pair in zip(first, second, strict=False) if pair[0] != pair[1])
                lines = difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
                print(f"{page}, seed {seed}: not the same:", *list(lines)[2:6], sep="\n    ")
    ended = [score for score in scores if score is not None]
    print(f"{len(pages) * given.seeds} courses on {len(pages)} pages: {different} not the same twice, {broken} broken; "
          f"{len(ended)} ended, {sum(score == 1 for score in ended)} of them with success")  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
