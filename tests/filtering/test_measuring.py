"""Tries: their number, their seeds, what is retried and what is not made twice."""

import asyncio
from collections import Counter

import pytest

import toolenvs
from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, EngineError, PageError
from toolenvs.filtering import measure, without_tools
from toolenvs.page import load
from toolenvs.rollout import Request, Trajectory
from toolenvs.tasks.seeding import Draws


def closed(page: str = "SearchR1-v0", **options: object) -> Blueprint:
    return Blueprint(without_tools(load(page, options)))


def sometimes(request: Request) -> str:
    """Right with chance a third, as the seed of the try says."""
    right = Draws("sometimes", request.task.id, request.seed).below(3) == 0
    return f"<answer>{request.task.gold if right else 'no'}</answer>"


async def test_each_try_has_its_own_seed_and_equal_seeds_give_equal_tries() -> None:
    env = closed()
    tasks = [env.tasks[index] for index in range(20)]
    seeds: list[int] = []
    runs = [
        await measure(
            env, FromFunction(sometimes), tasks, n=6, seed=seed, concurrency=concurrency,
            on_trajectory=lambda trajectory: seeds.append(trajectory.seed),
        )
        for seed, concurrency in ((1, 64), (1, 3), (2, 64))
    ]  # fmt: skip
    assert [count.tries for count in runs[0].values()] == [count.tries for count in runs[1].values()]
    assert runs[0] != runs[2]
    assert len(set(seeds[:120])) == 120
    rate = sum(count.solved() for count in runs[0].values()) / 120
    assert 0.2 < rate < 0.5


@pytest.mark.parametrize("stopped", [0, 1, 37, 119, 120])
async def test_a_run_that_was_stopped_goes_on_to_the_same_counts(stopped: int) -> None:
    env = closed()
    tasks = [env.tasks[index] for index in range(20)]
    whole: list[Trajectory] = []
    counts = await measure(env, FromFunction(sometimes), tasks, n=6, on_trajectory=whole.append)
    made: list[Trajectory] = []
    again = await measure(
        env, FromFunction(sometimes), tasks, n=6, before=whole[:stopped], on_trajectory=made.append
    )  # fmt: skip
    assert again == counts
    assert len(made) == 120 - stopped
    assert {t.key for t in made}.isdisjoint(t.key for t in whole[:stopped])


async def test_no_more_tries_run_at_once_than_asked_for() -> None:
    running, most = 0, 0

    class Slow(Oracle):
        async def act(self, request: Request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return await super().act(request)

    env = closed()
    await measure(env, Slow(env), [env.tasks[index] for index in range(10)], n=5, concurrency=7)
    assert most == 7


async def test_infrastructure_failures_are_retried_and_never_counted() -> None:
    asked: Counter[str] = Counter()

    def flaky(request: Request) -> str:
        asked[request.task.id] += 1
        place = int(request.task.id.rpartition("/")[2])
        if place == 1 or (place == 2 and asked[request.task.id] % 2):
            raise EngineError("the endpoint is silent")
        return f"<answer>{request.task.gold}</answer>"

    env = closed()
    tasks = [env.tasks[index] for index in range(3)]
    counts = await measure(env, FromFunction(flaky), tasks, n=2, retries=1, concurrency=1)
    assert [len(count.tries) for count in counts.values()] == [2, 0, 2]
    assert [count.failures for count in counts.values()] == [0, 2, 0]
    assert [count.solved() for count in counts.values()] == [2, 0, 2]
    assert list(asked.values()) == [2, 4, 4]


async def test_failures_of_an_earlier_run_are_tried_again() -> None:
    env = closed()
    tasks = [env.tasks[0]]
    seen: list[Trajectory] = []

    def silent(request: Request) -> str:
        raise EngineError("silent")

    await measure(env, FromFunction(silent), tasks, n=3, retries=0, on_trajectory=seen.append)
    counts = await measure(env, Oracle(env), tasks, n=3, before=seen)
    assert counts[tasks[0].id].tries == {0: 1.0, 1: 1.0, 2: 1.0}


async def test_ids_must_differ() -> None:
    env = closed()
    with pytest.raises(ConfigError, match="1 tasks have the id of another"):
        await measure(env, Oracle(env), [env.tasks[0]] * 2, n=1)


@pytest.mark.parametrize(
    "page", ["SearchR1-v0", "Search-v0", "ReTool-v0", "ToRL-v0", "RLFactorySearch-v0", "RSearch-v0"]
)
async def test_any_page_can_lose_its_tools(page: str) -> None:
    env = closed(page)
    assert (env.tools, env.protocol.targets) == ({}, ())
    task = env.tasks[0]
    prompt = env.render_prompt(task)
    assert task.question in prompt
    assert "<search>" not in prompt
    assert "```python" not in prompt
    if "maths" in env.page.judge["name"]:
        agent = FromFunction(lambda request: f"It is \\boxed{{{request.task.gold}}}.")
    else:
        agent = FromFunction(lambda request: f"I know: <answer>{request.task.gold}</answer>")
    right = await measure(env, agent, [task], n=2)
    assert right[task.id].solved() == 2
    calls = FromFunction(lambda request: toolenvs.load(page).protocol.write_answer("nothing of the kind"))
    wrong = await measure(env, calls, [task], n=2)
    assert wrong[task.id].solved() == 0


def test_a_prompt_must_show_the_question() -> None:
    with pytest.raises(PageError, match=r"has no \{question\}"):
        without_tools(load("SearchR1-v0"), prompt="Answer!")
    asked = without_tools(load("SearchR1-v0"), prompt="Q: {question}\nA:")
    assert asked.prompt.user == "Q: {question}\nA:"
