"""Ten thousand episodes: only what is in sight is drawn, only what is opened is unpacked."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.view.opening import Opened, chromium, episode
from toolenvs import view
from toolenvs.rollout import Trajectory
from toolenvs.transcript import Author, Segment, Transcript

COUNT = 10_000
DRAWN = 60
"""More rows than fit any window that is tested here."""


def _episodes() -> list[Trajectory]:
    rng = random.Random(0)
    made = []
    for index in range(COUNT):
        solved = float(rng.random() < 0.5)
        text = f"word{index} " + " ".join(rng.choice(("river", "stone", "lamp")) for _ in range(20))
        segments = [
            Segment(Author.PROMPT, f"Q {index}"),
            Segment(Author.POLICY, text, 1),
            Segment(Author.TOOL, "ok", 1),
        ]
        made.append(
            episode(
                f"question {index}", task=f"t/{index}", success=solved, turn_rewards=(solved,), seconds=float(index),
                transcript=Transcript(tuple(segments)), ending=rng.choice(("answer", "turns")), calls=(),
            )
        )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "out.html"
    assert view.write(path, _episodes()) == (COUNT, COUNT)
    return path


@pytest.fixture
async def opened(file: Path) -> AsyncIterator[Opened]:
    async with chromium(file) as one:
        yield one


async def test_few_rows_are_drawn_and_one_chunk_is_unpacked(opened: Opened) -> None:
    page = opened.page
    assert 0 < await page.locator("#list li").count() < DRAWN
    assert await page.evaluate("[...opened.keys()]") == [0]
    assert await opened.texts("h2") == ["question 0"]
    height = await page.evaluate("list.height * rows.length")
    assert await page.evaluate("document.querySelector('#list').scrollHeight") == height


async def test_scrolling_reaches_every_episode(opened: Opened) -> None:
    page = opened.page
    await page.evaluate("document.querySelector('#list').scrollTop = 1e9")
    await page.get_by_text(f"question {COUNT - 1}", exact=True).click()
    await opened.until(f"document.querySelector('h2').textContent === 'question {COUNT - 1}'")
    assert await page.locator("#list li").count() < DRAWN
    assert await page.locator("#list [aria-current]").count() == 1
    await page.keyboard.press("k")
    await opened.until(f"document.querySelector('h2').textContent === 'question {COUNT - 2}'")


async def test_a_search_of_the_list_and_of_all_that_was_written(opened: Opened) -> None:
    page = opened.page
    await page.locator("#search").fill("question 77")
    await opened.until("document.querySelector('#shown').textContent === '111 of 10,000 match'")
    await page.locator("#search").fill("word7777 ")
    await opened.until("document.querySelector('.empty') !== null")
    await page.locator("#everywhere").check()
    await opened.until("document.querySelector('h2')?.textContent === 'question 7777'")
    assert await opened.texts("#shown") == ["1 of 10,000 match"]
    await page.locator("#search").fill("nobody wrote this")
    await page.locator("#search").fill("")
    await opened.until("document.querySelector('#shown').textContent === ''")


async def test_filters_and_orders_agree_with_the_rows(opened: Opened) -> None:
    page = opened.page
    await page.locator("#success").select_option("solved")
    await page.locator("#ending").select_option("turns")
    await page.locator("#sort").select_option("seconds")
    solved = [one for one in _episodes() if one.success == 1 and one.ending == "turns"]
    assert await opened.texts("#shown") == [f"{len(solved):,} of 10,000 match"]
    slowest = max(solved, key=lambda one: one.seconds)
    assert (await opened.texts("#list .question"))[0] == slowest.question
