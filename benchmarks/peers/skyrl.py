"""Cases of SkyRL-Gym; see worker.py."""

from collections.abc import Callable, Generator
from importlib.metadata import version
from typing import Any

import skyrl_gym
from skyrl_gym.tools import PythonCodeExecutorToolGroup

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"skyrl-gym": version("skyrl-gym")}
TURNS = 4  # of each episode; the fifth ends it
QUESTION = [{"role": "user", "content": "What is it?"}]
EXTRAS = {"reward_spec": {"ground_truth": "4"}, "max_turns": TURNS + 1}


def begin() -> Any:
    env = skyrl_gym.make("gsm8k_multi_turn", env_config=None, extras=EXTRAS)
    env.init(QUESTION)
    return env


def final_answer() -> Case:
    while True:
        env = begin()
        result = yield lambda env=env: env.step("I have worked it out.\n#### 4")
        assert result["done"]
        assert result["reward"] == 1.0


def turn() -> Case:
    while True:
        env = begin()
        for _ in range(TURNS):
            result = yield lambda env=env: env.step("I think it may be\n#### 5")
            assert not result["done"]


def program() -> Case:
    tools = PythonCodeExecutorToolGroup()
    while True:
        text = yield lambda: tools.execute_tool("python", "print(2+2)")
        assert text == "4"


CASES = {"answer 4": final_answer, "turn": turn, "program": program}
