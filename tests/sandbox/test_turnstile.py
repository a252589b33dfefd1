"""Places: never more than there are, none lost, callers served in turn."""

import asyncio
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs.sandbox import turnstile as turnstiles
from toolenvs.sandbox.turnstile import Turnstile, caller, calling_as


async def _order(asking: list[str], cancelled: set[int]) -> list[str]:
    """Who comes through one place, in which order, when all wait for it; `cancelled` give up meanwhile."""
    turnstile = Turnstile(1)
    await turnstile.aenter("holder")
    served: list[str] = []

    async def pass_through(by: str) -> None:
        await turnstile.aenter(by)
        served.append(by)
        await asyncio.sleep(0)
        turnstile.leave()

    tasks = [asyncio.create_task(pass_through(by)) for by in asking]
    await asyncio.sleep(0)
    assert turnstile.waiting == len(asking)
    for index in cancelled:
        if index < len(tasks):
            tasks[index].cancel()
    await asyncio.sleep(0)
    turnstile.leave()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert turnstile.waiting == 0
    await asyncio.wait_for(turnstile.aenter("later"), 5)  # the place is free again
    return served


async def test_a_greedy_caller_does_not_starve_others() -> None:
    served = await _order(["greedy"] * 50 + ["modest", "third"] + ["greedy"] * 50, set())
    assert served[:4] == ["greedy", "modest", "third", "greedy"]
    assert len(served) == 102


@settings(max_examples=60, deadline=None)
@given(asking=st.lists(st.sampled_from("abc"), max_size=12), cancelled=st.sets(st.integers(0, 11)))
def test_places_go_round_and_none_is_lost(asking: list[str], cancelled: set[int]) -> None:
    served = asyncio.run(_order(asking, cancelled))
    left = {by: sum(by == other and n not in cancelled for n, other in enumerate(asking)) for by in "abc"}
    assert {by: served.count(by) for by in "abc"} == left
    for index in range(1, len(served)):  # nobody is served twice running while another waits
        if served[index] == served[index - 1]:
            assert set(served[index:]) == {served[index]}


async def test_who_calls() -> None:
    assert caller() is asyncio.current_task()
    with calling_as("episode"):
        assert caller() == "episode"
        assert await asyncio.create_task(asyncio.sleep(0, caller())) == "episode"

        async def child() -> object:
            return caller()

        assert await asyncio.create_task(child()) == "episode"
    assert await asyncio.to_thread(caller) != threading.get_ident()


def test_threads_share_places() -> None:
    turnstile = Turnstile(2)
    inside = most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            turnstile.enter()
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0)
            with lock:
                inside -= 1
            turnstile.leave()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= 2
    assert turnstile.waiting == 0


def test_places_of_a_loop_that_was_closed_over_its_tasks_come_back() -> None:
    turnstile = Turnstile(1)
    ended: list[str] = []

    async def hold(name: str) -> None:
        await turnstile.aenter(name)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(name)
            turnstile.leave()

    async def begin() -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(hold(name)) for name in ("holds", "waits")]
        while not turnstile.waiting:
            await asyncio.sleep(0)
        return tasks

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(begin())
    loop.close()
    turnstile.enter()
    assert (ended, turnstile.waiting) == (["holds"], 0)
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


async def test_a_forsaken_place_comes_to_who_comes_and_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstiles, "LOOK_S", 0.01)
    turnstile = Turnstile(1)
    ended: list[str] = []
    turnstile.enter()
    turnstile.forsake(lambda: ended.append("before"))
    turnstile.enter()
    assert ended == ["before"]
    waits = threading.Thread(target=turnstile.enter)
    waits.start()
    while not turnstile.waiting:
        await asyncio.sleep(0)
    turnstile.forsake(None)
    waits.join()
    asyncio.get_running_loop().call_later(0.01, turnstile.forsake, lambda: ended.append("in a loop"))
    await turnstile.aenter()
    turnstile.leave()
    assert (ended, turnstile.waiting, turnstile._free) == (["before", "in a loop"], 0, 1)
