"""The shop's tool: the browser's actions over a visit of its own, the same in a real browser."""

from typing import Any

import pytest

from toolenvs import tasks
from toolenvs.errors import ConfigError, ForkError, TaskError, ToolError
from toolenvs.shop import HOME
from toolenvs.tasks.task import Task
from toolenvs.tools.shop import Options, Session, Tool

TASK = tasks.load("shop", split="test")[0]


async def session(task: Task = TASK, **options: Any) -> Session:
    return await Tool(Options(**options)).open(task, seed=0, progress=0.0)


async def test_an_order_ends_it_and_is_scored() -> None:
    one = await session()
    *before, last = TASK.extra["calls"]
    for call in before:
        result = await one.call(call)
        assert (result.status, result.ended, result.score, "bought" in result.data) == ("ok", False, None, False)
    result = await one.call(last)
    assert (result.ended, result.score, result.reward) == (True, 1.0, 0.0)
    [bought] = result.data["bought"]
    assert TASK.extra["wish"]["options"].items() <= bought["options"].items()
    assert bought["price"] <= TASK.extra["wish"]["most"]
    await one.close()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "  ",
        "é漢😀",
        "\ud800",
        "a&b=c#d?e%41+",
        "x" * 100_000,
        "<script>",
        "\0\n\t",
        "café" * 400,
        "漢" * 500,
        "😀" * 500,
    ],
)
async def test_any_text_is_a_query(query: str) -> None:
    one = await session()
    result = await one.call({"action": "search", "query": query})
    assert result.status == "ok"
    assert result.text.startswith("[0] Results")
    assert result.data["action"] == "search"


async def test_a_query_reaches_the_form_whole() -> None:
    one = await session()
    result = await one.call({"action": "search", "query": 'a&b=c "d" + 100%'})
    assert '[2‡text q: a&b=c "d" + 100%]' in result.text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "must be one of search, open"),
        ({"action": "buy"}, "not 'buy'"),
        ({"action": "search"}, "needs the argument 'query'"),
        ({"action": "select", "link": 4}, "needs the argument 'option'"),
        ({"action": "forward"}, "not 'forward'"),
    ],
)
async def test_what_cannot_be_done_is_said(arguments: dict[str, Any], told: str) -> None:
    one = await session()
    with pytest.raises(ToolError, match=told):
        await one.call(arguments)


async def test_nothing_but_the_shop_is_opened() -> None:
    one = await session()
    for url in ("https://example.org/", "http://shop.test:81/", "file:///etc/passwd", "http://shop.test.evil/"):
        assert (await one.call({"action": "open", "url": url})).status in ("not_found", "bad_url", "blocked")


async def test_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="no action 'buy'"):
        Options(actions=("buy",))
    with pytest.raises(TaskError, match="a catalogue's products is 0"):
        Options(products=0)
    with pytest.raises(ValueError, match="max_view_chars"):
        Options(max_view_chars=0)
    with pytest.raises(TaskError, match="is no wish"):
        await session(Task(id="t", question="?"))


async def test_a_real_browser_shows_and_buys_the_same() -> None:
    text, real = await session(), await session(backend="chromium", timeout_s=60.0)
    calls = [{"action": "open", "url": HOME}, *TASK.extra["calls"]]
    results = []
    for call in calls:
        seen = [await one.call(call) for one in (text, real)]
        assert seen[0].text == seen[1].text
        results.append(seen[1])
        if len(results) == 4:
            with pytest.raises(ForkError, match="page with scripts cannot be copied"):
                await real.fork()
            assert (await (await text.fork()).call({"action": "view", "line": 0})).status == "ok"
    assert (results[-1].ended, results[-1].score) == (True, 1.0)
    await real.close()
    await text.close()
