"""Environments of each protocol, and recordings to feed them."""

from collections.abc import Callable

import pytest

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Source
from toolenvs.tasks.task import Task

_PAGES = ("ReTool-v0", "ReToolChat-v0", "ToRL-v0")


@pytest.fixture(scope="session")
def retool() -> Blueprint:
    return blueprint.load("ReTool-v0", **{"tasks.set": "arithmetic"})


@pytest.fixture(scope="session", params=_PAGES)
def env(request: pytest.FixtureRequest) -> Blueprint:
    """Each page in turn, with calls enough for a solution of several steps."""
    return blueprint.load(request.param, **{"tasks.set": "arithmetic", "max_calls": 8})


@pytest.fixture(scope="session")
def recorded() -> Callable[..., Source]:
    """`recorded(text, gold)`: a source whose recorded solution is one text."""

    def make(text: str, gold: str = "408", name: str = "t") -> Source:
        task = Task(id=name, question="What is 12 * 34?", golds=(gold,) if gold else ())
        return Source(task=task, replies=({"role": "assistant", "content": text},))

    return make


@pytest.fixture(scope="session")
def retool_text() -> Callable[..., str]:
    """`retool_text(code, output, answer)`: a response in ReTool's text form, spaced as its released rows are."""

    def make(code: str = "print(12 * 34)", output: str = "408", answer: str = "408") -> str:
        return (
            f"I multiply.\n\n<code>\n```python\n{code}\n```\n</code>\n<interpreter>\n{output}\n</interpreter>\n\n"
            f"That settles it.\n\n<answer>\n\\boxed{{{answer}}}\n</answer>"
        )

    return make
