"""SQL cases of SkyRL-Gym; see worker.py. The queries and their databases stand in queries.json, in this folder."""

import json
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import skyrl_gym
from omegaconf import OmegaConf
from skyrl_gym.envs.sql.utils import compute_score_single

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"skyrl-gym": version("skyrl-gym")}
TURNS = 4
FOUND = json.loads(Path("queries.json").read_text())
QUERIES, NEW = FOUND["golds"], FOUND["new"]
FRESH = {kind: iter(queries) for kind, queries in NEW["queries"].items()}  # no case asks what another one has asked
MANY = (QUERIES * 64)[:64]
THREADS = 32  # the default of its generator's max_env_workers
CHINOOK = {"db_id": NEW["db_id"], "file": NEW["file"], "sql": NEW["gold"]}
CONFIG = OmegaConf.create({"db_path": str(Path.cwd())})


def begin(one: Any) -> Any:
    extras = {"db_id": one["db_id"], "data": "spider", "reward_spec": {"ground_truth": one["sql"]}}
    env = skyrl_gym.make("text2sql", env_config=CONFIG, extras={**extras, "max_turns": TURNS + 1})
    env.init([{"role": "user", "content": "Which?"}])
    return env


def tool() -> Case:
    turn = 0
    for one in cycle(QUERIES):
        if turn % TURNS == 0:
            env, db_id = begin(one), one["db_id"]
        elif db_id != one["db_id"]:
            env, db_id, turn = begin(one), one["db_id"], 0
        action = f"<think>I look.</think>\n<sql>{one['sql']}</sql>"
        result = yield lambda env=env, action=action: env.step(action)
        assert "Error" not in result["observations"][0]["content"]
        turn += 1


def reward() -> Case:
    for one in cycle(QUERIES):
        env = begin(one)
        action = f"<think>I know.</think>\n<solution>{one['sql']}</solution>"
        result = yield lambda env=env, action=action: env.step(action)
        assert result["done"]
        assert result["reward"] == 1.0


def score() -> Case:
    for one in cycle(QUERIES):
        said = f"<think>I know.</think>\n<solution>{one['sql']}</solution>"
        value = yield lambda one=one, said=said: compute_score_single(said, one["sql"], one["file"])
        assert value == 1.0


def new(kind: str) -> Case:
    queries = FRESH[kind]
    while True:
        env = begin(CHINOOK)
        for _ in range(TURNS):
            action = f"<think>I look.</think>\n<sql>{next(queries)}</sql>"
            result = yield lambda env=env, action=action: env.step(action)
            assert "Error" not in result["observations"][0]["content"]


def together() -> Case:
    """As its generator steps many episodes: in threads."""
    actions = [f"<think>I look.</think>\n<sql>{one['sql']}</sql>" for one in MANY]
    with ThreadPoolExecutor(THREADS) as threads:
        while True:
            envs = list(map(begin, MANY))
            results = yield lambda envs=envs: list(threads.map(lambda env, action: env.step(action), envs, actions))
            assert not any("Error" in result["observations"][0]["content"] for result in results)


def rewarded() -> Case:
    for said in FRESH["right"]:
        env = begin(CHINOOK)
        action = f"<think>I know.</think>\n<solution>{said}</solution>"
        result = yield lambda env=env, action=action: env.step(action)
        assert result["reward"] == 1.0


CASES = {"tool": tool, "reward": reward, "score": score, "together": together, "rewarded": rewarded}
CASES |= {kind: partial(new, kind) for kind in ("small", "1,000 rows")}
