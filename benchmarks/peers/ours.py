"""Cases of toolenvs; see worker.py."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import gymnasium as gym

import toolenvs
from toolenvs import sandbox
from toolenvs.tasks.task import Task

Case = Generator[Callable[[], Any], Any, None]

with sandbox.open() as box:
    VERSIONS = {"toolenvs": toolenvs.__version__, "sandbox tier": box.tier, "gymnasium": gym.__version__}
ID = "toolenvs/ReTool-v0"
TURNS = 4  # of each episode; SkyRL-Gym's ends at the fifth
PROGRAM = "<code>\n```python\nprint(2+2)\n```\n</code>"
PRINTED = "\n<interpreter>\n4</interpreter>\n\n"


def final_answer(gold: str, written: str) -> Case:
    action = f"I have worked it out.\n<answer>\n\\boxed{{{written}}}\n</answer>"
    task = Task(id="question", question="What is it?", golds=(gold,))
    with gym.make(ID) as env:
        while True:
            env.reset(options={"task": task})
            _, reward, terminated, *_ = yield lambda: env.step(action)
            assert terminated
            assert reward == 1.0


def turn() -> Case:
    with gym.make(ID) as env:
        while True:
            env.reset(seed=0)
            for _ in range(TURNS):
                text, _, terminated, truncated, _ = yield lambda: env.step("<code></code>")
                assert "None" in text
                assert not terminated
                assert not truncated


def program(session: str) -> Case:
    with gym.make(ID, session=session) as env:
        while True:
            env.reset(seed=0)
            env.step(PROGRAM)
            for _ in range(TURNS):
                text, *_ = yield lambda: env.step(PROGRAM)
                assert text == PRINTED, text


def first_program(session: str) -> Case:
    with gym.make(ID, session=session) as env:
        while True:
            env.reset(seed=0)
            text, *_ = yield lambda: env.step(PROGRAM)
            assert text == PRINTED, text


CASES = {
    "answer 4": partial(final_answer, "4", "4"),
    "answer 1/2": partial(final_answer, "0.5", r"\frac{1}{2}"),
    "turn": turn,
    "stateful program": partial(program, "stateful"),
    "stateful program, first": partial(first_program, "stateful"),
    "stateless program": partial(program, "stateless"),
}
