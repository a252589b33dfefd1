"""How long Chromium takes to open a page of many trajectories, and to answer in it.

    python benchmarks/view.py

The episodes are of the size of the search environments' (some 3,000 characters each in a few turns), words at random.
Opening is the time from the navigation to the first episode in sight; an answer is the time from an input until it is
drawn, by the page's own clock. Pages are opened one after another, each in a fresh browser.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from toolenvs import view
from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.transcript import Author, Segment, Transcript
from toolenvs.web.chromium import containment

WORDS = [f"{a}{b}" for a in ("ri", "ver", "sto", "lam", "pen", "qua") for b in ("ne", "tor", "ba", "lis", "mu", "ken")]
ACTIONS = {
    "search the list": "at('search').value = 'question 77'; search()",
    "sort by reward": "at('search').value = ''; at('sort').value = 'best'; search()",
    "filter by ending": "at('ending').value = 'turns'; search()",
    "scroll to the end": "at('list').scrollTop = 1e9; list.draw()",
    "open the last": "open(selected.at(-1))",
    "next episode": "step(-1)",
}
"""What a reader does, as the page's own handlers have it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.html"
        began = time.process_time()
        view.write(file, (episode(number) for number in range(args.episodes)))
        spent, size = time.process_time() - began, file.stat().st_size / 1e6
        print(f"{args.episodes} episodes: written in {spent:.1f} CPU-s, {size:.1f} MB")
        asyncio.run(measure(file, args.rounds))


def episode(number: int) -> Trajectory:
    """An episode of three searches and an answer."""
    rng = random.Random(number)

    def words(count: int) -> str:
        return " ".join(rng.choices(WORDS, k=count))

    segments = [Segment(Author.PROMPT, f"Answer the question. {words(30)}")]
    calls = []
    for turn in range(1, 4):
        found = words(120)
        segments.append(Segment(Author.POLICY, f"<think>{words(20)}</think>\n<search>{words(4)}</search>", turn))
        segments.append(Segment(Author.TOOL, f"<information>{found}</information>", turn))
        calls.append(
            CallRecord(turn=turn, tool="search", arguments={"query": words(4)}, result=found, status="ok", seconds=0.01)
        )
    segments.append(Segment(Author.POLICY, f"<answer>{words(2)}</answer>", 4))
    right = float(rng.random() < 0.5)
    return Trajectory(
        key=str(number), group=str(number // 8), env="SearchR1-v0", task=f"world/{number // 8}",
        question=f"question {number}: {words(12)}", golds=(words(2),), seed=number,
        transcript=Transcript().append(segments), tokens=None, turn_rewards=(0.0, 0.0, 0.0, right),
        reward_terms={"outcome": right}, ending=rng.choice(("answer", "turns")), success=right, calls=tuple(calls),
        usage={"turns": 4.0, "calls": 3.0}, seconds=rng.random(),
    )  # fmt: skip


async def measure(file: Path, rounds: int) -> None:
    """Open the page that often, and print medians."""
    from playwright.async_api import async_playwright

    opening: list[float] = []
    answers: dict[str, list[float]] = {name: [] for name in ACTIONS}
    async with async_playwright() as playwright:
        for _ in range(rounds):
            browser = await playwright.chromium.launch(
                executable_path=containment.find(), args=["--no-sandbox", "--disable-gpu"], chromium_sandbox=False
            )
            page = await (await browser.new_context(offline=True)).new_page()
            began = time.perf_counter()
            await page.goto(file.as_uri())
            await page.wait_for_selector("#episode article")
            opening.append(time.perf_counter() - began)
            for name, script in ACTIONS.items():
                answers[name].append(await answer(page, script))
            heap = await page.evaluate("performance.memory ? performance.memory.usedJSHeapSize : 0")
            await browser.close()
    each = ", ".join(f"{one:.2f}" for one in opening)
    print(f"open, until an episode is in sight: {statistics.median(opening):.2f} s ({each})")
    for name, times in answers.items():
        print(f"{name}: {statistics.median(times):.0f} ms")
    print(f"memory of the page's script: {heap / 1e6:.0f} MB")


async def answer(page: Any, script: str) -> float:
    """Milliseconds until a script's effect is drawn: its own work, what it waits for, and the next frame."""
    timed = (
        "async () => { const began = performance.now(); await (async () => { %s })();"
        " await new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
        " return performance.now() - began; }"
    )
    return float(await page.evaluate(timed % script))


if __name__ == "__main__":
    main()
