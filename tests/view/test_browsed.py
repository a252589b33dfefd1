"""Browsed pages in the viewer, opened by real Chromium: what the agent read, all of it, and nothing of it acts."""

import dataclasses
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.view.opening import Opened, Parsed, chromium
from toolenvs import view
from toolenvs.rollout import TrajectoryWriter, read_trajectories
from toolenvs.rollout.trajectory import CallRecord, Trajectory
from toolenvs.tasks.task import Task
from toolenvs.tools.browse import Options, Tool
from toolenvs.transcript import Author, Segment, Transcript
from toolenvs.view.plain import VISIBLE
from toolenvs.web.app import Application
from toolenvs.web.source import Source

HUGE = "w" * 300_000
EVIL = (
    "<title>&lt;/script>&lt;script>document.ran=1&lt;/script> T</title>"
    "<p>first &lt;img src=x onerror=document.ran=1> &lt;/script>&lt;script>document.ran=1&lt;/script>"
    "<p>see <a href='http://site.test/next'>the &lt;b>next&lt;/b> page</a> and <a href=javascript:document.ran=1>js</a>"
    "<p>&lt;iframe src=javascript:document.ran=1>&lt;svg onload=document.ran=1>{{script}} ${document.ran=1}"
    "<p>\u202eend\u202c &#x2067;bidi &#0; &amp;lt;!-- [7&#8224;forged] L3: forged [3] T (http://evil.test/)"
    "<p>\u05d0\u05d1\u05d2 (x) \u05d3"
    "<form action=/s><input name=q value='\"><script>document.ran=1</script>'><button>Go</button></form>"
    "<p>last needle and NEEDLE"
)
PAGES = {"/": EVIL, "/next": "<title>Next</title>" + "".join(f"<p>line {n}" for n in range(40)), "/huge": f"<p>{HUGE}"}


class OnApplication(Tool):
    """The tool over an application in place of a recorded site."""

    def source(self) -> Source:
        async def site(scope: Any, receive: Any, send: Any) -> None:
            page = PAGES.get(scope["path"])
            headers = [(b"content-type", b"text/html; charset=utf-8")]
            await send({"type": "http.response.start", "status": 200 if page else 404, "headers": headers})
            await send({"type": "http.response.body", "body": (page or "").encode()})

        return Application(site, home="http://site.test/", stateless=True)


ACTIONS = [
    {"action": "open"},
    {"action": "find", "text": "needle"},
    {"action": "click", "link": 0},
    {"action": "view"},
    {"action": "open", "url": "http://site.test/none"},
    {"action": "click", "link": 99},
    {"action": "open", "url": "/huge"},
]


async def _trajectory() -> Trajectory:
    """An episode as `collect` would record it, with the tool's own answers."""
    from toolenvs.episode import _page

    tool = OnApplication(Options(actions=("open", "click", "find", "view"), max_view_chars=400_000))
    session = await tool.open(Task(id="t", question=""), seed=0, progress=0.0)
    segments, calls = [Segment(Author.PROMPT, "Q")], []
    for turn, action in enumerate(ACTIONS, 1):
        result = await session.call(action)
        segments += [Segment(Author.POLICY, f"call {turn}", turn), Segment(Author.TOOL, result.text, turn)]
        calls.append(
            CallRecord(
                turn=turn, tool="browse", arguments=action, result=result.text, status=result.status, seconds=0.1,
                page=_page(result.data),
            )
        )  # fmt: skip
    await session.close()
    return Trajectory(
        key="0.0", group="0", env="E-v0", task="t/0", question="Q", golds=("42",), seed=0,
        transcript=Transcript().append(segments), tokens=None, turn_rewards=(0.0,) * len(ACTIONS),
        reward_terms={}, ending="turns", success=0.0, calls=tuple(calls),
    )  # fmt: skip


@pytest.fixture
async def trajectory(tmp_path: Path) -> Trajectory:
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        writer.write(await _trajectory())
    (read,) = read_trajectories(tmp_path / "t.jsonl")
    return read


def _visible(text: str) -> str:
    return text.translate(VISIBLE)


async def test_what_is_kept_of_a_page_is_small_and_comes_back(trajectory: Trajectory) -> None:
    made = await _trajectory()
    assert [call.page for call in trajectory.calls] == [call.page for call in made.calls]
    assert [call.page["cursor"] for call in trajectory.calls] == [0, 0, 1, None, None, None, 2]
    assert trajectory.calls[1].page["hits"] == [len(made.calls[0].result.split("\n")) - 3]
    assert all(len(repr(call.page)) < 400 for call in trajectory.calls)
    other = dataclasses.replace(made.calls[0], page={})
    assert "page" not in other.to_json()


async def test_an_episode_of_a_page_keeps_what_its_browser_showed() -> None:
    import toolenvs
    from toolenvs.agents.scripted import Scripted
    from toolenvs.rollout.collect import collect

    blueprint = toolenvs.load("Browse-v0", tools={"browse": {"site": "sites/world:100"}}, tasks={"passages": 100})
    call = '<tool_call>\n{"name": "browse", "arguments": %s}\n</tool_call>'
    turns = [call % '{"action": "search", "query": "town"}', call % '{"action": "click", "link": 0}']
    agent = Scripted([*turns, call % '{"action": "click", "link": 9999}', "<answer>unknown</answer>"])
    (trajectory,) = await collect(blueprint, agent, [blueprint.tasks[0]])
    assert [made.status for made in trajectory.calls] == ["ok", "ok", "no_such_link"]
    assert [made.page["cursor"] for made in trajectory.calls] == [0, 1, None]
    assert trajectory.calls[1].result.startswith("[1] ")
    assert trajectory.calls[1].page["url"] in trajectory.calls[1].result
    assert [call["page"]["cursor"] for call in Parsed(view.html([trajectory])).episodes[0]["calls"]] == [0, 1, None]


@pytest.fixture
async def opened(trajectory: Trajectory, tmp_path: Path) -> AsyncIterator[Opened]:
    file = tmp_path / "out.html"
    view.write(file, [trajectory], title="</script><script>document.ran=1</script>")
    async with chromium(file) as one:
        yield one
    shutil.rmtree(tmp_path)


async def _open(page: Any, place: int) -> None:
    await page.locator(".page > summary").nth(place).click()
    await page.locator(".page").nth(place).locator(".page-text").wait_for(state="attached")  # drawn once it is open


async def test_pages_open_and_close_by_a_click_and_show_what_was_read(opened: Opened, trajectory: Trajectory) -> None:
    page = opened.page
    assert await opened.texts(".page-text") == []
    summaries = page.locator(".page > summary")
    assert await summaries.count() == len(ACTIONS)
    for place in range(len(ACTIONS)):
        await _open(page, place)
        assert await page.locator(".page").nth(place).get_attribute("open") is not None
    assert await opened.texts(".page-text") == [_visible(call.result) for call in trajectory.calls]
    await summaries.nth(0).click()
    assert await page.locator(".page").nth(0).get_attribute("open") is None
    assert not await page.locator(".page-text").nth(0).is_visible()
    assert await page.locator(".page-text").nth(1).is_visible()
    assert await opened.ran() is None


async def test_lines_links_hits_and_what_was_shown_are_marked(opened: Opened, trajectory: Trajectory) -> None:
    page = opened.page
    for place in range(len(ACTIONS)):
        await _open(page, place)
    first, found = page.locator(".page").nth(0), page.locator(".page").nth(1)
    lines = trajectory.calls[0].result.split("\n")[2:]
    assert await first.locator(".gutter").all_inner_texts() == [f"L{n}: " for n in range(len(lines))]
    assert await first.locator(".link").all_inner_texts() == ["[0†the <b>next</b> page]"]
    assert await first.locator(".link").get_attribute("title") == "link 0"
    assert len(await first.locator(".field").all_inner_texts()) == 3
    assert await found.locator("mark").all_inner_texts() == ["needle", "NEEDLE"]
    assert await found.locator(".line.hit").count() == 1
    covered = await page.locator(".coverage li").all_inner_texts()
    assert covered[0].startswith("[0] ")
    assert covered[0].endswith(f"0-{len(lines) - 1} of {len(lines)} lines (100 %)")
    assert covered[1].endswith("0-39 of 40 lines (100 %)")
    words = await page.locator(".page > summary > span:nth-of-type(2)").all_inner_texts()
    assert {"not_found", "no_such_link", "no_such_line"} <= set(words)
    assert await page.locator(".page a, .page img, .page script, .page iframe, .page form, .page svg").count() == 0


async def test_the_transcript_stands_beside_with_its_authors_and_leads_to_the_pages(opened: Opened) -> None:
    page = opened.page
    assert await page.locator(".transcript .policy").count() == len(ACTIONS)
    assert await page.locator(".transcript .tool").count() == len(ACTIONS)
    await page.locator(".to-page").nth(2).click()
    assert [await one.get_attribute("open") is not None for one in await page.locator(".page").all()] == [
        place == 2 for place in range(len(ACTIONS))
    ]
    await page.get_by_label("prompt").check()  # what is drawn anew keeps its place and its pages
    assert await page.locator(".beside .transcript").count() == 1
    assert await page.locator(".page").count() == len(ACTIONS)
    assert await opened.ran() is None


async def test_episodes_without_pages_look_as_before(trajectory: Trajectory) -> None:
    plain = dataclasses.replace(trajectory, calls=tuple(dataclasses.replace(one, page={}) for one in trajectory.calls))
    assert {call["page"] for call in Parsed(view.html([plain])).episodes[0]["calls"]} == {None}


async def test_a_page_whose_marks_never_close_takes_no_more_than_its_length(opened: Opened) -> None:
    cost = (
        "(n => {const text = '[1\u2020'.repeat(n) + ']'.repeat(n >> 1); const at = performance.now(); marked(text, '');"
    )
    cost += " return performance.now() - at})"
    await opened.page.evaluate(cost + "(1000)")
    small, large = [await opened.page.evaluate(f"{cost}({n})") for n in (20_000, 200_000)]
    assert large < 100 * max(small, 5.0), "ten times as long a line, and far from a hundred times the time"
