"""Cases of GEM; see worker.py. Its mathematics judges in a process pool of its own, as it does by default."""

from collections.abc import Callable, Generator
from functools import partial
from importlib.metadata import version
from typing import Any

import gem
from datasets import Dataset
from gem.envs.math_env import MathEnv
from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper

Case = Generator[Callable[[], Any], Any, None]

VERSIONS = {"gem-llm": version("gem-llm")}
GAME = "game:GuessTheNumber-v0-hard"
GUESSES = [f"I guess \\boxed{{{number}}}" for number in (1, 2, 3, 4)]  # seed 0 hides none of them


def final_answer(gold: str, written: str) -> Case:
    action = f"I have worked it out.\n\\boxed{{{written}}}"
    env = MathEnv(dataset=Dataset.from_dict({"problem": ["What is it?"], "answer": [gold]}))
    while True:
        env.reset()
        _, reward, terminated, *_ = yield lambda: env.step(action)
        assert terminated
        assert reward == 1.0


def turn(tools: bool) -> Case:
    env = gem.make(GAME)
    if tools:
        env = ToolEnvWrapper(env, [PythonCodeTool()])
    while True:
        env.reset(seed=0)
        for guess in GUESSES:
            _, _, terminated, truncated, _ = yield lambda guess=guess: env.step(guess)
            assert not terminated
            assert not truncated


def program() -> Case:
    tool = PythonCodeTool()
    while True:
        _, failed, text, _ = yield lambda: tool.execute_action("<python>print(2+2)</python>")
        assert not failed
        assert "4" in text


CASES = {
    "answer 4": partial(final_answer, "4", "4"),
    "answer 1/2": partial(final_answer, "0.5", r"\frac{1}{2}"),
    "turn": partial(turn, tools=False),
    "turn, ToolEnvWrapper": partial(turn, tools=True),
    "program": program,
}
