"""What a written page holds: as a parser finds it, and as Chromium shows it."""

import asyncio
import base64
import contextlib
import dataclasses
import gzip
import html.parser
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.transcript import Author, Segment, Transcript
from toolenvs.web.chromium import containment

PATIENT_S = 60.0
"""Far longer than anything takes; what never comes fails then."""


def episode(text: str = "6 * 7", **changes: Any) -> Trajectory:
    segments = [
        Segment(Author.PROMPT, f"Q: {text}"),
        Segment(Author.POLICY, f"call {text}", 1),
        Segment(Author.POLICY, f"forged {text}", 1, scored=False),
        Segment(Author.TOOL, f"result {text}", 1, verbatim=True),
        Segment(Author.HARNESS, f"note {text}", 1),
        Segment(Author.POLICY, "42", 2),
    ]
    call = CallRecord(turn=1, tool="python", arguments={"code": text, "n": 2}, result=text, status="ok", seconds=0.5)
    made = Trajectory(
        key="0.0",
        group="0",
        env="E-v0",
        task="t/0",
        question=text,
        golds=("42",),
        seed=2**63,
        transcript=Transcript(tuple(segments)),
        tokens=None,
        turn_rewards=(0.0, 1.0),
        reward_terms={"outcome": 1.0},
        ending="answer",
        success=1.0,
        calls=(call,),
        usage={"turns": 2.0},
        seconds=1.5,
    )
    return dataclasses.replace(made, **changes)


class Parsed(html.parser.HTMLParser):
    """What a browser would find: every element, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])

    @property
    def chunks(self) -> list[list[dict[str, Any]]]:
        return [json.loads(gzip.decompress(base64.b64decode(text))) for text in self.scripts[1:-1]]

    @property
    def episodes(self) -> list[dict[str, Any]]:
        """Every episode whole, as the page's script puts it together."""
        columns = self.data["columns"]
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        rests = [one for chunk in self.chunks for one in chunk]
        return [{**row, **rest} for row, rest in zip(rows, rests, strict=True)]


class Opened:
    """A file, opened in a browser that notes what it asks for and what went wrong."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    async def settled(self) -> "Opened":
        """Wait until an episode, a pair, the curves, or the word that there is none, stands there."""
        shown = "[...document.querySelectorAll('main')].some(one => !one.hidden && one.children.length)"
        return await self.until(shown)

    async def until(self, expression: str) -> "Opened":
        """Wait until it holds. Asked from here, since the page's policy lets nothing be evaluated in it."""
        async with asyncio.timeout(PATIENT_S):
            while not await self.page.evaluate(expression):
                await asyncio.sleep(0.02)
        return self

    async def texts(self, selector: str) -> list[str]:
        return await self.page.evaluate("s => [...document.querySelectorAll(s)].map(one => one.textContent)", selector)

    async def ran(self) -> Any:
        """What a script that may not run would have left."""
        return await self.page.evaluate("document.ran ?? null")


@contextlib.asynccontextmanager
async def chromium(file: Path) -> AsyncIterator[Opened]:
    """The file in Chromium without a network; at the end nothing had gone wrong, and nothing else was asked for."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=containment.find(), args=["--no-sandbox", "--disable-gpu"], chromium_sandbox=False
        )
        context = await browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
        opened = Opened(await context.new_page())
        await opened.page.goto(file.as_uri())
        yield await opened.settled()
        await browser.close()
    assert opened.errors == []
    assert opened.requests == [file.as_uri()]
