"""The tool over MiniWoB++: what a call may say, pages that are kept and let go, and what is missing or dies."""

import asyncio
import importlib.metadata
import sys
from typing import Any

import pytest

from toolenvs.errors import ConfigError, ForkError, MissingExtraError, ToolError, WebError
from toolenvs.tasks.task import Task
from toolenvs.tools import miniwob
from toolenvs.tools.miniwob import Options, Pages, Session, Tool
from toolenvs.web.chromium import shared, shutdown

PATIENT_S = 60.0


def task(page: str = "click-test-2", seed: Any = 1) -> Task:
    return Task(id="t", question="?", extra={"page": page, "seed": seed})


async def session(page: str = "click-test-2", **options: Any) -> Session:
    return await Tool(Options(**{"timeout_s": PATIENT_S, **options})).open(task(page), seed=0, progress=0.0)


async def test_an_episode() -> None:
    one = await session()
    seen = await one.call({"action": "look"})
    assert seen.text.startswith("Goal: Click button ONE.\n[0] button")
    assert (await one.call({"action": "look"})).text == seen.text  # no time has passed
    assert (seen.status, seen.ended, seen.score, seen.reward) == ("ok", False, None, 0.0)
    wrong = await one.call({"action": "click", "element": 7})
    assert wrong.status == "error"
    assert wrong.text == f"click was not done: there is no element 7\n{seen.text}"
    assert not (await one.call({"action": "look"})).text.startswith("click")
    right = await one.call({"action": "click", "element": "0"})
    assert (right.ended, right.score, right.reward, right.data["raw_reward"]) == (True, 1.0, 1.0, 1.0)
    await one.close()
    await one.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "must be one of look, click"),
        ({"action": "fly"}, "not 'fly'"),
        ({"action": ["click"]}, "must be one of"),
        ({"action": "click"}, "needs the argument 'element'"),
        ({"action": "click", "element": "x"}, "whole number from 0"),
        ({"action": "click", "element": 1.5}, "whole number from 0"),
        ({"action": "click", "element": True}, "whole number from 0"),
        ({"action": "click", "element": -1}, "whole number from 0"),
        ({"action": "click", "element": float("nan")}, "whole number from 0"),
        ({"action": "click", "element": 10**30}, "whole number from 0"),
        ({"action": "click", "element": 10**400}, "whole number from 0"),
        ({"action": "xy", "x": -(10**400), "y": 1}, "'x' must be a number from 0 to 219"),
        ({"action": "click", "element": "inf"}, "whole number from 0"),
        ({"action": "click", "element": 0, "text": "x"}, "click takes 'element', not 'text'"),
        ({"action": "look", "element": 0}, "look takes no further argument"),
        ({"action": "type", "element": 0, "text": ["x"]}, "must be a text"),
        ({"action": "type", "element": 0, "text": "x" * 1_001}, "at most 500"),
        ({"action": "select", "element": 0, "choices": [["x"]]}, "must be a text"),
        ({"action": "press"}, "needs the argument 'keys'"),
        ({"action": "xy", "x": 220, "y": 1}, "'x' must be a number from 0 to 219"),
        ({"action": "drag", "x": 1, "y": 1, "to_x": 1, "to_y": -1}, "'to_y' must be a number from 0 to 269"),
        ({"action": "scroll", "element": 0, "down": float("inf")}, "'down' must be a number from -10000"),
    ],
)
async def test_what_cannot_be_meant_is_told_and_opens_nothing(arguments: dict[str, Any], told: str) -> None:
    one = await session()
    with pytest.raises(ToolError, match=told):
        await one.call(arguments)
    assert one._page is None


async def test_what_may_be_written_loosely() -> None:
    one = await session("choose-list")
    shown = (await one.call({"action": "look"})).text
    wanted = shown.partition("Select ")[2].partition(" from")[0]
    chosen = await one.call({"action": "select", "element": "0", "choices": wanted})
    assert f'chosen="{wanted}"' in chosen.text
    await one.close()
    one = await session("enter-text")
    for text, value in ((12, "12"), ("a\ud800\0b", "a?b"), ("", "")):
        seen = await one.call({"action": "type", "element": 0.0, "text": text})
        assert f'value="{value}"' in seen.text
    await one.close()


async def test_only_the_actions_of_the_page_are_taken() -> None:
    one = await session(actions=("look", "click"))
    with pytest.raises(ToolError, match="one of look, click, not 'wait'"):
        await one.call({"action": "wait"})
    assert set(Tool(Options(actions=("look", "click"))).parameters["properties"]) == {"action", "element"}
    for options, told in (({"actions": ()}, "actions is empty"), ({"actions": ("fly",)}, "no action 'fly'")):
        with pytest.raises(ConfigError, match=told):
            Options(**options)
    with pytest.raises(ValueError, match="step_s"):
        Options(step_s=0.0)


async def test_a_page_is_kept_for_the_next_episode_and_forgets_the_last() -> None:
    tool = Tool(Options(timeout_s=61.0))
    texts, pages = [], []
    for _ in range(2):
        one = await tool.open(task("enter-text"), seed=0, progress=0.0)
        texts.append((await one.call({"action": "look"})).text)
        pages.append(one._page)
        await one.call({"action": "type", "element": 0, "text": "left behind"})
        with pytest.raises(ForkError, match="Chromium"):
            await one.fork()
        await one.close()
    assert texts[0] == texts[1]
    assert pages[0] == pages[1]


async def test_some_pages_are_kept_and_the_rest_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(miniwob, "_KEPT_PAGES", 2)
    pages = Pages(0.5, PATIENT_S)
    taken = [await pages.take() for _ in range(3)]
    for page, _ in taken:
        await page.areset("click-test", 0)
    for one in taken:
        await pages.give_back(*one)
    assert [page._context is None for page, _ in taken] == [False, False, True]
    assert (await pages.take())[0] is taken[1][0]
    for page, _ in taken:
        await page.aclose()


async def test_pages_that_nobody_takes_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(miniwob, "_KEPT_S", 0.05)
    pages = Pages(0.5, PATIENT_S)
    for _ in range(2):  # and watched again, once there are some again
        taken = [await pages.take() for _ in range(2)]
        for page, _ in taken:
            await page.areset("click-test", 0)
        for one in taken:
            await pages.give_back(*one)
        while pages._waiting or pages._watched:
            await asyncio.sleep(0.01)
        assert all(page._context is None for page, _ in taken)


async def test_a_page_of_a_browser_that_was_ended_is_not_given_out_again() -> None:
    pages = Pages(0.5, PATIENT_S)
    first, engine = await pages.take()
    await first.areset("click-test", 0)
    await pages.give_back(first, engine)
    await asyncio.to_thread(shutdown)
    second, other = await pages.take()
    assert second is not first
    assert other is not engine
    assert other is shared()
    assert (await second.areset("click-test", 0)).goal == "Click the button."
    await pages.give_back(second, other)
    third, _ = await pages.take()
    assert third is second
    await pages.give_back(third, other)


async def test_a_page_that_hangs_is_infrastructure_and_replaced() -> None:
    one = await session()
    await one.call({"action": "look"})
    assert one._page is not None
    page, _ = one._page
    page._timeout_s = 0.000_001
    with pytest.raises(WebError, match="no answer of the page"):
        await one.call({"action": "click", "element": 0})
    page._timeout_s = PATIENT_S
    await one.close()
    assert (await (await session()).call({"action": "look"})).status == "ok"


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        await Tool(Options(timeout_s=62.0)).check()

    await check()
    await asyncio.to_thread(shutdown)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "playwright", None)
        patch.setitem(sys.modules, "playwright.async_api", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'toolenvs\[chromium\]'"):
            await check()
    with monkeypatch.context() as patch:

        def missing(name: str) -> None:
            raise importlib.metadata.PackageNotFoundError(name)

        patch.setattr(importlib.metadata, "distribution", missing)
        with pytest.raises(MissingExtraError, match="--no-deps miniwob"):
            await check()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nonexistent")
        patch.delenv("TOOLENVS_CHROMIUM", raising=False)
        with pytest.raises((WebError, ConfigError), match="(?i)chromium"):
            await check()
    await check()


@pytest.mark.parametrize("seed", [None, "1", 1.0])
async def test_a_task_without_a_page_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="names no page of MiniWoB"):
        await Tool(Options()).open(task(seed=seed), seed=0, progress=0.0)
