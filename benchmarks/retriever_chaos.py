"""A search server that is killed and started again under running episodes: who ends how, and what they were shown.

    python benchmarks/retriever_chaos.py [--episodes 64] [--rounds 3] [--out chaos.json]

`toolenvs serve search` runs in a process of its own; 64 episodes of Search-v0 run at once, each of them searching turn
after turn, replaced by a new one when it ends. The server is killed (SIGKILL) in the middle, and started again on the
same port: after a second, which the client's further attempts outlast, and after longer than the client tries. Every
observation is compared with what the same query gives without a server. What has to hold: no observation that is wrong
or empty; every episode ends by itself or as `infrastructure`; and the right calls a second come back.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import toolenvs
from toolenvs import retrieval
from toolenvs.agents.scripted import FromFunction
from toolenvs.blueprint import Blueprint
from toolenvs.rollout.agent import Request
from toolenvs.rollout.collect import run_episode
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.world import World

WORLD = "world:1000"
TURNS = 6
TRIES_S = 3.0
"""How long a client tries in the longer outage."""
OUTAGES_S = {"short": 1.0, "long": 3 * TRIES_S}
WINDOW_S = 4.0


def queries() -> list[str]:
    """What the world's passages are about."""
    return sorted({passage.title for passage in World(1000).passages()})


@contextlib.contextmanager
def serving(port: int) -> Iterator[subprocess.Popen[str]]:
    """The server; killed in the end, whatever it does."""
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "search", WORLD]
    with subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
        try:
            yield process
        finally:
            process.kill()


class Episodes:
    """Episodes that run until they are told to end, and what came of their calls."""

    def __init__(self, blueprint: Blueprint, asked: list[str], expected: dict[str, str]) -> None:
        self.blueprint, self.asked, self.expected = blueprint, asked, expected
        self.endings: Counter[str] = Counter()
        self.right = 0
        self.wrong: list[str] = []
        self.ending = False

    async def run(self, number: int) -> None:
        count = 0
        agent = FromFunction(lambda request: self.act(number, count, request))
        while not self.ending:
            count += 1
            task = self.blueprint.tasks[(number + 64 * count) % len(self.blueprint.tasks)]
            trajectory = await run_episode(self.blueprint, agent, task, key=f"{number}.{count}", seed=count)
            self.judge(trajectory)
            if trajectory.ending == "infrastructure":
                await asyncio.sleep(0.2)  # as a trainer would not start the same again at once

    def act(self, number: int, count: int, request: Request) -> str:
        if request.turn > TURNS:
            return "<answer>unknown</answer>"
        return f"<search>{self.asked[(7 * number + 31 * count + request.turn) % len(self.asked)]}</search>"

    def judge(self, trajectory: Trajectory) -> None:
        self.endings[trajectory.ending] += 1
        for call in trajectory.calls:
            if call.status != "ok":
                if trajectory.ending != "infrastructure":
                    self.wrong.append(f"a call ended {call.status} in an episode that ended {trajectory.ending}")
                continue
            self.right += 1
            query = str(call.arguments["query"])
            if call.result != self.expected[query] or not call.result.strip():
                self.wrong.append(f"{query!r} gave {call.result[:80]!r}")
        shown = trajectory.transcript.text.count("</information>")
        if trajectory.ending == "answer" and shown < TURNS:
            self.wrong.append(f"an episode that went on to its answer saw {shown} observations")


async def calls_per_s(episodes: Episodes, seconds: float) -> float:
    before, began_s = episodes.right, time.perf_counter()
    await asyncio.sleep(seconds)
    return (episodes.right - before) / (time.perf_counter() - began_s)


async def outage(port: int, episodes: int, down_s: float, options: dict[str, Any]) -> dict[str, Any]:
    """One kill and restart."""
    url = f"http://127.0.0.1:{port}"
    blueprint = toolenvs.load("Search-v0", **{"tools.search.index": url})
    asked = queries()
    plain = toolenvs.load("Search-v0")
    session = await plain.tools["search"].open(plain.tasks[0], seed=0, progress=0.0)
    expected = {query: (await session.call({"query": query})).text for query in asked}
    asked = [query for query in asked if expected[query].strip() and "No passage" not in expected[query]]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(port))
        client = stack.enter_context(retrieval.open(url, **options))
        blueprint.tools["search"].retriever = lambda: client  # with this patience
        await blueprint.check()
        running = Episodes(blueprint, asked, expected)
        tasks = [asyncio.create_task(running.run(number)) for number in range(episodes)]
        while running.right < 4 * episodes:  # what is loaded once is loaded
            await asyncio.sleep(0.1)
        before = await calls_per_s(running, WINDOW_S)
        counted = running.endings.copy()
        server.kill()
        server.wait()
        await asyncio.sleep(down_s)
        await asyncio.to_thread(stack.enter_context, serving(port))
        await asyncio.sleep(TRIES_S + 2)  # calls of the outage have ended, or found the server again
        lost = (running.endings - counted)["infrastructure"]
        after = await calls_per_s(running, WINDOW_S)
        late = running.endings["infrastructure"] - counted["infrastructure"] - lost
        running.ending = True
        _, hung = await asyncio.wait(tasks, timeout=120)
    return {
        "down s": down_s,
        "endings": dict(running.endings),
        "ended as infrastructure in the outage": lost,
        "and once it was over": late,
        "right calls": running.right,
        "wrong": running.wrong[:10],
        "hung": len(hung),
        "right calls a second, before and after": [round(before), round(after)],
        "after over before": round(after / before, 2),
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    options = parser.parse_args()
    results = []
    for _ in range(options.rounds):
        for kind, down_s in OUTAGES_S.items():
            patience = {"attempts": 12, "deadline_s": 60.0 if kind == "short" else TRIES_S}
            result = {"outage": kind, **asyncio.run(outage(free_port(), options.episodes, down_s, patience))}
            print(json.dumps(result), flush=True)
            results.append(result)
    holds = all(
        not result["wrong"]
        and not result["hung"]
        and not result["and once it was over"]
        and result["after over before"] >= 0.7
        and (result["ended as infrastructure in the outage"] > 0) == (result["outage"] == "long")
        for result in results
    )
    print("holds" if holds else "DOES NOT HOLD")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
