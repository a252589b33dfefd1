"""Runs: their folders, their curves, and two of them side by side."""

import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.view.opening import Opened, Parsed, chromium, episode
from toolenvs import view
from toolenvs.errors import ConfigError
from toolenvs.rollout import TrajectoryWriter
from toolenvs.transcript import Author, Segment, Transcript

EVIL = "<img src=x onerror=document.ran=1>"


def _training(folder: Path, success: dict[int, list[float]], **line: Any) -> Path:
    """A run of training: on task t/N of each step an episode with that success."""
    for step, outcomes in success.items():
        with TrajectoryWriter(folder / "trajectories" / f"step-{step:06d}.jsonl") as writer:
            for index, outcome in enumerate(outcomes):
                writer.write(episode(f"question {index}", task=f"t/{index}", success=outcome, turn_rewards=(outcome,)))
    lines = [
        {"step": step, "success": sum(outcomes) / len(outcomes), **line} for step, outcomes in sorted(success.items())
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return folder


def test_a_training_run_has_steps_and_metrics(tmp_path: Path) -> None:
    run = view.read_run(_training(tmp_path / "one", {2: [0.0, 1.0], 10: [1.0]}))
    assert run.label == "one"
    assert [line["step"] for line in run.metrics] == [2, 10]
    page = Parsed(view.html([run]))
    assert page.data["columns"]["step"] == [2, 2, 10]
    assert page.data["columns"]["task"] == ["t/0", "t/1", "t/0"]
    assert page.data["runs"][0]["metrics"][1] == {"step": 10, "success": 1.0}


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no trajectories at .*nowhere"):
        view.read_run(tmp_path / "nowhere")
    (tmp_path / "t.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"t\.jsonl, line 1: not a trajectory"):
        view.html([view.read_run(tmp_path / "t.jsonl")])


def test_metrics_without_a_trajectory_are_a_run(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"step": 1, "monitor": "length"}\n', encoding="utf-8")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n', encoding="utf-8")
    page = Parsed(view.html([view.read_run(tmp_path)]))
    assert page.episodes == []
    assert page.data["runs"][0]["metrics"] == [{"step": 1, "loss": 0.5}]


def test_the_limit_holds_for_each_run(tmp_path: Path) -> None:
    runs = [view.read_run(_training(tmp_path / name, {1: [0.0, 1.0, 1.0]})) for name in "ab"]
    page = Parsed(view.html(runs, limit=2))
    assert page.data["columns"]["run"] == [0, 0, 1, 1]
    assert [run["totals"]["episodes"] for run in page.data["runs"]] == [3, 3]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Two runs that share the tasks 0 to 3, of which the second solves more in its last step."""
    first = view.read_run(
        _training(tmp_path / "a", {1: [0.0, 1.0, 0.0, 1.0, 1.0], 2: [0.0, 1.0, 0.0, 1.0]}, entropy=1.5)
    )
    second = view.read_run(_training(tmp_path / "b", {1: [0.0] * 4, 2: [1.0, 1.0, 1.0, 0.0]}, **{EVIL: 2.0}), EVIL)
    view.write(tmp_path / "out.html", [first, second])
    async with chromium(tmp_path / "out.html") as one:
        yield one


async def test_curves_of_both_runs(opened: Opened) -> None:
    page = opened.page
    await page.get_by_role("tab", name="curves").click()
    panels = page.locator("#curves figure")
    assert await panels.first.locator("polyline").count() == 2
    assert await opened.texts("#curves > .panels figcaption b") == ["success", "entropy", EVIL]
    (told, *_) = await opened.texts("#curves figcaption .about")
    assert told == f"a 0.5 at 2 · {EVIL} 0.75 at 2"
    await panels.first.locator("svg").hover(position={"x": 60, "y": 60})
    (told, *_) = await opened.texts("#curves figcaption .about")
    assert told == f"a 0.6 at 1 · {EVIL} 0 at 1"
    assert not await page.locator("#episode").is_visible()
    assert await opened.ran() is None


async def test_two_runs_side_by_side(opened: Opened) -> None:
    page = opened.page
    await page.get_by_role("tab", name="compare").click()
    await page.wait_for_selector("#pair article")
    (told,) = await opened.texts("#compare-totals")
    assert told == "4 tasks of both · right better on 2, left on 1 · mean difference +0.25"
    assert await opened.texts("#pair h2") == ["question 0", "question 0"]
    assert await opened.texts("#pair .side") == ["‹ › a · episode 1 of 1", f"‹ › {EVIL} · episode 1 of 1"]
    await page.locator("#compare-show").select_option("worse")
    await opened.until("document.querySelector('#pair h2').textContent === 'question 3'")
    assert await page.locator("#compare-list li").count() == 1
    await page.locator("#right").select_option("0")
    assert await opened.texts("#compare-totals") == [
        "5 tasks of both · right better on 0, left on 0 · mean difference 0"
    ]
    await page.wait_for_selector("#pair .empty")
    assert await opened.ran() is None


async def test_episodes_of_one_run_and_one_step(opened: Opened) -> None:
    page = opened.page
    await page.locator("#run").select_option("1")
    await page.locator("#step").select_option("2")
    assert await opened.texts("#shown") == ["4 of 17 match"]
    assert await page.locator("#env").is_visible() is False, "there is one environment only"


async def test_what_was_forgotten_is_marked(tmp_path: Path) -> None:
    segments = [
        Segment(Author.PROMPT, "Q"),
        Segment(Author.POLICY, "read", 1),
        Segment(Author.TOOL, "a long page", 1, kept="a page"),
        Segment(Author.POLICY, "42", 2),
    ]
    forgetful = dataclasses.replace(episode(), transcript=Transcript(tuple(segments)), calls=())
    view.write(tmp_path / "out.html", [forgetful])
    async with chromium(tmp_path / "out.html") as one:
        assert await one.texts(".transcript .forgotten") == ["a long page"]
        assert "later read as: a page" in await one.page.locator(".transcript .forgotten").get_attribute("title")
        assert "forgotten" in await one.texts(".legend span")


async def test_a_curve_may_have_more_points_than_a_call_takes_arguments(tmp_path: Path) -> None:
    lines = [{"step": step, "success": step % 7 / 7} for step in range(150_000)]
    view.write(tmp_path / "out.html", [view.Run(label="long", episodes=(), metrics=lines)])
    async with chromium(tmp_path / "out.html") as one:
        await one.until("document.querySelectorAll('#curves polyline').length === 1")


async def test_large_values_that_hardly_differ_have_ticks(tmp_path: Path) -> None:
    """A step between two ticks may be smaller than what the next number of that size differs by."""
    lines = [
        {"step": step, "reward": 1.7e18 + 256 * step, "success": 10.0**300 * (-1) ** step, "kl": 5e-324 * step}
        for step in range(2)
    ]
    view.write(tmp_path / "out.html", [view.Run(label="large", episodes=(), metrics=lines)])
    async with chromium(tmp_path / "out.html") as one:
        await one.until("document.querySelectorAll('#curves polyline').length === 3")
        assert 1 <= await one.page.locator("#curves figure:nth-of-type(2) .rule").count() <= 10
