"""A corrupted tool never says the right number, and says the same wrong one for the same seed."""

import random

from hypothesis import given
from hypothesis import strategies as st

import toolenvs
from toolenvs.episode import Episode
from toolenvs.tasks.task import Task
from toolenvs.tools.corrupted import _other

_OVERRIDES = {"tools": {"corrupted": {}}, "protocol.calls.code.tool": "corrupted"}


@given(number=st.integers(0, 10**9).map(str), seed=st.integers())
def test_other_numbers_differ_and_have_as_many_digits(number: str, seed: int) -> None:
    other = _other(number, random.Random(seed))
    assert other != number
    assert len(other) == len(number)


async def test_in_an_episode() -> None:
    blueprint = toolenvs.load("ReTool-v0", **_OVERRIDES)
    await blueprint.check()
    results = []
    for seed in (1, 1, 2):
        episode = Episode(blueprint, Task(id="t", question="q", golds=("42",)), seed=seed)
        turn = await episode.step("<code>print(123456, 'and', 7)</code>")
        results.append(turn.calls[0].result)
        fork = await episode.fork()
        assert (await fork.step("<code>print(123456, 'and', 7)</code>")).calls[0].result == results[-1]
        await episode.close()
        await fork.close()
    assert results[0] == results[1] != results[2]
    assert all(" and " in result and "123456" not in result for result in results)
