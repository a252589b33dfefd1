"""SQL cases of toolenvs; see worker.py. The queries and their databases stand in queries.json, in this folder."""

import json
from collections.abc import Callable, Generator
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import gymnasium as gym

import toolenvs
from toolenvs import loop
from toolenvs.rewards.moment import Moment
from toolenvs.tasks.task import Task
from toolenvs.transcript import Transcript
from toolenvs.vector import ToolVectorEnv

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"toolenvs": toolenvs.__version__, "gymnasium": gym.__version__}
TURNS = 4  # of each episode; SkyRL-Gym's ends at the fifth
FOUND = json.loads(Path("queries.json").read_text())
QUERIES, NEW = FOUND["golds"], FOUND["new"]
FRESH = {kind: iter(queries) for kind, queries in NEW["queries"].items()}  # no case asks what another one has asked
TASKS = [
    Task(
        id=str(number),
        question="Which?",
        golds=(one["sql"],),
        extra={"database": one["file"], "ordered": one["ordered"]},
    )
    for number, one in enumerate(QUERIES)
]

MANY = (TASKS * 64)[:64]
CHINOOK = Task(id="new", question="Which?", golds=(NEW["gold"],), extra={"database": NEW["file"]})

NUMBERS = count()


def unlike(sql: str) -> str:
    """The query with other blanks behind its first word: none is asked twice, and no kept result answers it."""
    word, _, rest = sql.partition(" ")
    return f"{word}{next(NUMBERS):016b} ".replace("0", " ").replace("1", "\n") + rest


def tool(page: str, again: bool = False) -> Case:
    with gym.make(f"toolenvs/{page}-v0") as env:
        for task in TASKS if again else ():
            env.reset(options={"task": task})
            env.step(f"<sql>{task.gold}</sql>")
        turn, database = TURNS, ""
        for task in cycle(TASKS):
            if turn == TURNS or task.extra["database"] != database:
                env.reset(options={"task": task})
                turn, database = 0, task.extra["database"]
            action = f"<think>I look.</think>\n<sql>{task.gold if again else unlike(task.gold)}</sql>"
            text, *_ = yield lambda action=action: env.step(action)
            assert "row" in text, text
            turn += 1


def reward(page: str, again: bool = False, looked: bool = False) -> Case:
    with gym.make(f"toolenvs/{page}-v0") as env:
        for task in TASKS:  # copies are made, and golds run on them, once for a task and not for an episode
            env.reset(options={"task": task})
            env.step(f"<think>I know.</think>\n<solution>{task.gold}</solution>")
        for task in cycle(TASKS):
            env.reset(options={"task": task})
            said = task.gold if again else unlike(task.gold)
            if looked:
                env.step(f"<think>I look.</think>\n<sql>{said}</sql>")
            action = f"<think>I know.</think>\n<solution>{said}</solution>"
            _, value, terminated, *_ = yield lambda action=action: env.step(action)
            assert terminated
            assert value == 1.0


def final(task: Task, said: str) -> Moment:
    """The end of an episode with that answer."""
    return Moment(task=task, transcript=Transcript(), answer=said, said=(), ending="answer", calls=0, malformed=False)


def judge(metric: str) -> Case:
    """The judge by itself, without an episode: what the peers' functions do."""
    with gym.make("toolenvs/SkyRLSQL-v0", judge={"metric": metric}) as env:
        judge = env.unwrapped.blueprint.judge
        for number, task in enumerate(cycle(TASKS)):
            said = task.gold if number < len(TASKS) else unlike(task.gold)
            moment = final(task, said)
            if number < len(TASKS):  # golds run once for a task
                loop.run_alone(judge(moment))
                continue
            verdict = yield lambda moment=moment: loop.run_alone(judge(moment))
            assert verdict.correct


def new(page: str, kind: str) -> Case:
    """A new query each time."""
    with gym.make(f"toolenvs/{page}-v0") as env:
        queries = FRESH[kind]
        while True:
            env.reset(options={"task": CHINOOK})
            for _ in range(TURNS):
                action = f"<think>I look.</think>\n<sql>{next(queries)}</sql>"
                text, *_ = yield lambda action=action: env.step(action)
                assert ("1 row" if kind == "small" else kind) in text, text


def together() -> Case:
    """A new query in each of many episodes, all of them in one step."""
    envs = ToolVectorEnv(len(MANY), page="SQL-v0")
    try:
        envs.reset()
        for env, task in zip(envs.envs, MANY, strict=True):
            env.reset(options={"task": task})
        while True:
            actions = [f"<think>I look.</think>\n<sql>{unlike(task.gold)}</sql>" for task in MANY]
            texts, *_ = yield lambda actions=actions: envs.step(actions)
            assert all("row" in text for text in texts)
            for env, task in zip(envs.envs, MANY, strict=True):
                env.reset(options={"task": task})
    finally:
        envs.close()


def rewarded() -> Case:
    """A new query that is right, each time."""
    with gym.make("toolenvs/SkyRLSQL-v0") as env:
        for said in FRESH["right"]:
            env.reset(options={"task": CHINOOK})
            action = f"<think>I know.</think>\n<solution>{said}</solution>"
            _, value, *_ = yield lambda action=action: env.step(action)
            assert value == 1.0


def judged(metric: str) -> Case:
    """As `rewarded`, the judge by itself."""
    with gym.make("toolenvs/SkyRLSQL-v0", judge={"metric": metric}) as env:
        judge = env.unwrapped.blueprint.judge
        for said in FRESH["right"]:
            moment = final(CHINOOK, said)
            verdict = yield lambda moment=moment: loop.run_alone(judge(moment))
            assert verdict.correct


CASES = {
    f"{case.__name__}, {page}{', again' if again else ''}": partial(case, page, again)
    for case in (tool, reward)
    for page in ("SQL", "SkyRLSQL")
    for again in (False, True)
}
CASES |= {f"reward, {page}, looked": partial(reward, page, looked=True) for page in ("SQL", "SkyRLSQL")}
CASES |= {f"judge, {metric}": partial(judge, metric) for metric in ("bird_ex", "skyrl_set")}
CASES |= {
    f"{kind}, {page}": partial(new, page, kind) for page in ("SQL", "SkyRLSQL") for kind in ("small", "1,000 rows")
}
CASES |= {"together": together, "rewarded": rewarded} | {
    f"judged, {metric}": partial(judged, metric) for metric in ("bird_ex", "skyrl_set")
}
