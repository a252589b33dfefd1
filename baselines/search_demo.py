"""The search demo: a policy that learns to search and to read, from nothing, on a laptop's CPU.

    python baselines/search_demo.py --output runs/search_demo --seeds 0 1 2

Makes a tiny transformer that can find things in a text, cold-starts it on scripted episodes of SearchR1-v0 over one
fictional world, trains it with GRPO against the real index, and tests it on another world, of whose names and facts it
saw none. Then it takes the search away, in training and in the test, and lets it lie. A seed that is complete is left
alone, so several processes may run seeds at once and a last one report them.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import demo_seeds
import grpo
from demo_seeds import NO_CALLS, Laps, held_out, success

from toolenvs import blueprint, retrieval, view
from toolenvs.codec import TokenCodec
from toolenvs.tasks.task import Task
from toolenvs.train.policy import load_policy
from toolenvs.world import World
from toolenvs.world.entities import Key
from toolenvs.world.passages import passage

SHOWN_EPISODES = 40


def run(folder: Path, base: str, seed: int, tasks: int, options: list[str]) -> dict[str, float]:
    """One seed: cold start, GRPO, GRPO without calls, and the tests; returns success and CPU seconds by name."""
    laps = Laps()
    _, cold = demo_seeds.cold_start("search_tiny", folder / "sft", base, seed, tasks, options, laps)
    model = folder / "sft" / "model"
    settings, found = demo_seeds.policy_gradient("search_tiny", folder / "grpo", model, seed, tasks, options, laps)
    result = {"seed": float(seed), **cold, **found}
    without = replace(settings, output=f"{folder}/no_calls", env={**settings.env, **NO_CALLS})
    result |= {"trained_without_calls": grpo.main(without)["test_success"], "no_calls_cpu_s": laps.lap_s()}

    lies = {"tools.search.index": str(lying_index(folder / "lies", world_of(settings)))}
    conditions = {"greedy": {}, "no_calls": NO_CALLS, "empty": {"tools.search.passage": ""}, "lying": lies}
    shown = held_out(model, settings, tasks, temperature=0.0)
    result["greedy_cold_start"] = success(shown)
    for name, keys in conditions.items():
        episodes = held_out(folder / "grpo" / "model", settings, tasks, keys, temperature=float(name != "greedy"))
        result[name] = success(episodes)
        if name == "greedy":
            shown = shown[: SHOWN_EPISODES // 2] + episodes[: SHOWN_EPISODES // 2]
    codec = TokenCodec(load_policy(f"{folder}/grpo/model")[1])
    view.write(folder / "episodes.html", shown, title="SearchR1-v0, before and after GRPO", codec=codec)
    env = blueprint.load(settings.page, **{**settings.env, **settings.test_env})
    result["chance"] = chance(world_of(settings), [env.tasks[index] for index in range(tasks)])
    return result | {"tests_cpu_s": laps.lap_s()}


def world_of(settings: grpo.Args) -> World:
    """The world that the policy is tested on."""
    keys = {**settings.env, **settings.test_env}
    return World(keys.get("tasks.passages", 1_000), seed=keys.get("tasks.world", 0))


def lying_index(folder: Path, world: World) -> Path:
    """An index of the world in which everything has its own name and the facts of another thing of its kind."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.jsonl"
    with corpus.open("w", encoding="utf-8") as rows:
        for key in world.keys():  # noqa: SIM118
            other = world.entity(Key(key.kind, (key.number + 1) % world.counts[key.kind]))
            told = passage(world, replace(other, key=key, name=world.name(key)))
            rows.write(json.dumps({"id": told.id, "contents": told.contents}) + "\n")
    retrieval.index(corpus, folder / "index")
    return folder / "index"


def chance(world: World, tasks: Iterable[Task]) -> float:
    """What the best guess gives who knows the world's answers but not whose they are.

    For each question: the share of its fact's most frequent value among all things of that kind.
    """

    @cache
    def share(kind: Any, fact: str) -> float:
        entities = [world.entity(Key(kind, number)) for number in range(world.counts[kind])]
        values = Counter(entity.links.get(fact) or entity.figures[fact] for entity in entities)
        return max(values.values()) / len(entities)

    asked = [(task.extra["evidence"][-1].partition("-")[0], task.extra["facts"][-1]) for task in tasks]
    return mean(share(kind, fact) for kind, fact in asked)


def report(output: Path, seeds: list[int], results: Path) -> None:
    """A table, the numbers behind it, and the curve."""
    title = "SearchR1-v0, tiny policy: rollouts (lines), another world's questions (dots)"
    kinds = {"grpo": ("#15803d", "with search"), "no_calls": ("#b91c1c", "no calls allowed")}
    demo_seeds.report("search_demo", title, kinds, output, seeds, results)


if __name__ == "__main__":
    demo_seeds.main("search_demo", run, report, __doc__)
