"""SQL cases of toolenvs; see worker.py. The queries and their databases stand in queries.json, in this folder."""

import json
from collections.abc import Callable, Generator
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import gymnasium as gym

import toolenvs
from toolenvs.tasks.task import Task

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"toolenvs": toolenvs.__version__, "gymnasium": gym.__version__}
TURNS = 4  # of each episode; SkyRL-Gym's ends at the fifth
QUERIES = json.loads(Path("queries.json").read_text())
TASKS = [
    Task(
        id=str(number),
        question="Which?",
        golds=(one["sql"],),
        extra={"database": one["file"], "ordered": one["ordered"]},
    )
    for number, one in enumerate(QUERIES)
]

NUMBERS = count()


def unlike(sql: str) -> str:
    """The query with other blanks behind its first word: none is asked twice, and no kept result answers it."""
    word, _, rest = sql.partition(" ")
    return f"{word}{next(NUMBERS):016b} ".replace("0", " ").replace("1", "\n") + rest


def tool(page: str, again: bool = False) -> Case:
    with gym.make(f"toolenvs/{page}-v0") as env:
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


CASES = {
    f"{case.__name__}, {page}{', again' if again else ''}": partial(case, page, again)
    for case in (tool, reward)
    for page in ("SQL", "SkyRLSQL")
    for again in (False, True)
} | {f"reward, {page}, looked": partial(reward, page, looked=True) for page in ("SQL", "SkyRLSQL")}
