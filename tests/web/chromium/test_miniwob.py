"""MiniWoB++: every task starts, the same seed gives the same page, and rewards are what the pages give."""

import asyncio
import importlib.metadata
import re
from collections.abc import Iterator

import pytest

from tests.web.chromium.conftest import PATIENT_S
from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.web.chromium import miniwob
from toolenvs.web.chromium.engine import Engine
from toolenvs.web.chromium.miniwob import MiniWob, Observation, driver

PICTURED = ["email-inbox", "social-media", "tic-tac-toe"]
"""Elements whose size is that of a picture which a style names."""
MOVING = ["chase-circle", "click-pie", "moving-items", "simon-says", "hover-shape", "click-collapsible"]


@pytest.fixture(scope="module")
def browser(engine: Engine) -> Iterator[MiniWob]:
    with MiniWob(engine=engine, timeout_s=PATIENT_S) as one:
        yield one


def _find(seen: Observation, pattern: str) -> int:
    """The number of the first element whose line matches."""
    return next(number for number, line in enumerate(seen.text.splitlines()) if re.search(pattern, line))


def _solve_checkboxes(browser: MiniWob, seed: int, *, leave_out: int = 0) -> Observation:
    seen = browser.reset("click-checkboxes", seed)
    asked = re.fullmatch(r"Select (.*) and click Submit\.", seen.goal)
    assert asked is not None
    wanted = [] if asked[1] == "nothing" else asked[1].split(", ")
    for name in wanted[leave_out:]:
        seen = browser.click(_find(seen, f'label "{re.escape(name)}"') + 1)
        assert "unchecked" not in seen.text.splitlines()[_find(seen, f'label "{re.escape(name)}"') + 1]
    return browser.click(_find(seen, "Submit"))


def test_tasks_are_those_of_the_package() -> None:
    names = miniwob.tasks()
    assert len(names) >= 125
    assert set(miniwob.FAULTS) | set(miniwob.GRADED) <= set(names)
    assert list(names) == sorted(names)


@pytest.mark.parametrize("task", [*MOVING, *PICTURED, *miniwob.tasks()[::16]])
def test_a_seed_gives_the_same_page_and_course(task: str, browser: MiniWob) -> None:
    def course(seed: int) -> list[Observation]:
        seen = [browser.reset(task, seed)]
        seen += [browser.xy(80, 110), browser.act("wait"), browser.hover(60, 90)]
        return [_timeless(one) for one in seen]

    first = course(1)
    assert first[0].goal
    assert first[0].text
    assert first[0].success is None or first[0].done
    assert course(2) != first or task in ("click-test", "simon-says")
    for _ in range(6 if task in PICTURED else 1):
        assert course(1) == first


def _timeless(seen: Observation) -> Observation:
    from dataclasses import replace

    return replace(seen, seconds=0.0)


def test_a_page_is_replaced_before_its_memory_is_full(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_RESETS", 2)
    opened: list[object] = []
    with MiniWob(engine=engine, timeout_s=PATIENT_S) as one:
        texts = set()
        for _ in range(5):
            texts.add(one.reset("click-test", 1).text)
            if one._page not in opened:
                opened.append(one._page)
    assert (len(opened), len(texts)) == (3, 1)


def test_what_listens_is_told_though_it_holds_no_words(browser: MiniWob) -> None:
    cells = re.findall(r"span id=\"ttt-\d\"", browser.reset("tic-tac-toe", 1).text)
    assert len(cells) == 9
    assert 'span class="like"' in browser.reset("social-media", 1).text
    assert 'svg id="svg-grid"' in browser.reset("circle-center", 1).text
    assert all(browser.reset(task, 1).text for task in ("hot-cold", "daily-calendar"))


def test_a_task_is_solved_or_failed_by_its_page(browser: MiniWob) -> None:
    right = _solve_checkboxes(browser, 3)
    assert (right.done, right.raw_reward, right.success) == (True, 1.0, 1.0)
    assert 0 < right.reward < 1  # time has passed on the page's clock
    part = _solve_checkboxes(browser, 3, leave_out=1)
    assert part.done
    assert 0 < part.raw_reward < 1
    assert part.success == 0.0
    after = browser.click(0)
    assert after.error == "the episode has ended: reset"
    assert after.raw_reward == part.raw_reward


def test_typing_choosing_dragging_and_keys(browser: MiniWob) -> None:
    seen = browser.reset("enter-text", 0)
    text = re.search('"(.*)"', seen.goal)
    assert text is not None
    browser.type(_find(seen, "input"), "something else")
    seen = browser.type(_find(seen, "input"), text[1])
    assert f'value="{text[1]}"' in seen.text
    assert browser.click(_find(seen, "Submit")).success == 1.0
    seen = browser.reset("choose-list", 0)
    choice = re.search(r"Select (.*) from the list", seen.goal)
    assert choice is not None
    seen = browser.select(_find(seen, "select"), choice[1])
    assert browser.click(_find(seen, "Submit")).success == 1.0
    seen = browser.reset("focus-text", 0)
    assert browser.press("Tab").done or browser.click(_find(seen, "input")).done
    seen = browser.reset("drag-box", 0)
    before = seen.text
    places = re.findall(r"@(\d+),(\d+) (\d+)x(\d+)", "\n".join(seen.text.splitlines()[:2]))
    (x, y, w, h), (to_x, to_y, to_w, to_h) = sorted((tuple(map(int, p)) for p in places), key=lambda p: p[2])
    assert browser.drag(x + w / 2, y + h / 2, to_x + to_w / 2, to_y + to_h / 2).text != before
    seen = browser.reset("scroll-text", 0)
    assert browser.scroll(_find(seen, "textarea"), 100).error is None


def test_a_wrong_card_is_no_success(browser: MiniWob) -> None:
    """The page's known fault: 0.1 for a wrong card, which is above 0."""
    seen = browser.reset("find-greatest", 1)
    assert "card-value" not in seen.text  # hidden cards do not show their values
    values = []
    for place in range(3):
        seen = browser.click(_find(seen, f'data-index="{place}"'))
        values.append(int(re.search(r'card-value" "(-?\d+)"', seen.text)[1]))  # type: ignore[index]
        seen = browser.reset("find-greatest", 1)
    worst, best = values.index(min(values)), values.index(max(values))
    seen = browser.click(_find(seen, f'data-index="{worst}"'))
    wrong = browser.click(_find(seen, "submit"))
    assert (wrong.done, wrong.raw_reward, wrong.success) == (True, 0.1, 0.0)
    seen = browser.click(_find(browser.reset("find-greatest", 1), f'data-index="{best}"'))
    assert browser.click(_find(seen, "submit")).success == 1.0


def test_time_passes_with_actions_only(browser: MiniWob) -> None:
    browser.reset("click-button", 0)
    waited = 0
    while not (seen := browser.act("wait")).done:
        waited += 1
        assert waited < 100
    assert seen.raw_reward == -1
    assert waited == 10 / 0.5 - 2  # ten seconds, of which the reset took one half and the last action another


def test_what_cannot_be_done_is_said(browser: MiniWob) -> None:
    browser.reset("enter-text", 0)
    assert browser.click(99).error == "there is no element 99"
    assert browser.type(99, "x").error == "no such element"
    assert browser.type(1, "x").error == "the element takes no text"
    assert browser.select(0, "x").error == "the element is no list to choose from"
    assert "no key" in (browser.press("Nonsense").error or "")
    for kind, arguments in (
        ("click", ("1",)),
        ("click", ()),
        ("xy", (1,)),
        ("press", (1,)),
        ("fly", ()),
        ("wait", (1,)),
    ):
        with pytest.raises(ConfigError, match=kind):
            browser.act(kind, *arguments)


def test_wrong_uses_are_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with MiniWob(engine=engine) as fresh:
        with pytest.raises(ConfigError, match="reset"):
            fresh.click(0)
        with pytest.raises(ConfigError, match="did you mean 'click-button'"):
            fresh.reset("click-buton")
        with pytest.raises(ConfigError, match="seed"):
            fresh.reset("click-button", seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="step_s"):
        MiniWob(step_s=0)

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(MissingExtraError, match="--no-deps miniwob"):
        MiniWob(engine=engine)


def test_the_asynchronous_face(engine: Engine) -> None:
    async def go() -> Observation:
        async with MiniWob(engine=engine, timeout_s=PATIENT_S) as browser:
            seen = await browser.areset("click-test", 0)
            return await browser.aclick(_find(seen, "button"))

    assert asyncio.run(go()).success == 1.0


@pytest.mark.parametrize("task", ["click-shades", "click-tab-2-medium", "simple-arithmetic"])
def test_a_page_stays_where_it_is_and_what_is_below_the_pointer_is_seen(task: str, browser: MiniWob) -> None:
    def places(seen: Observation) -> list[str]:
        return re.findall(r"@(-?\d+),", seen.text)

    def course() -> list[Observation]:
        first = browser.reset(task, 2)
        dragged = [browser.drag(150, 120, *to) for to in ((-40, 120), (300, 120), (80, 400))]
        assert {tuple(places(one)) for one in (first, *dragged)} == {tuple(places(first))}
        return [_timeless(one) for one in (first, *dragged, browser.xy(90, 190), browser.act("wait"))]

    assert course() == course()


@pytest.mark.parametrize("task", ["click-tab-2", "click-collapsible-2"])
def test_a_number_is_that_of_what_is_seen_and_not_of_what_is_hidden_now(task: str, browser: MiniWob) -> None:
    for seed in range(4):
        seen = browser.reset(task, seed)
        wanted = rf'class="alink" "{re.escape(seen.goal.split(chr(34))[1])}[,.]?" @'
        for section in ("1", "2", "3"):
            if not re.search(wanted, seen.text):
                seen = browser.click(_find(seen, f'(Tab|Section) #{section}"'))
        assert browser.click(_find(seen, wanted)).success == 1.0


def test_each_page_has_a_clipboard_of_its_own(engine: Engine, browser: MiniWob) -> None:
    def copy(page: MiniWob, seed: int) -> Observation:
        page.click(_find(page.reset("copy-paste", seed), "textarea"))
        page.press("Control+A")
        return page.press("Control+C")

    def paste(page: MiniWob, seen: Observation) -> str:
        page.click(_find(seen, "input"))
        seen = page.press("Control+V")
        return seen.text.splitlines()[_find(seen, "input")]

    with MiniWob(engine=engine, timeout_s=PATIENT_S) as other:
        first, second = copy(browser, 1), copy(other, 2)
        assert paste(browser, first) != paste(other, second)
        assert browser.click(_find(first, "Submit")).success == other.click(_find(second, "Submit")).success == 1.0
        assert 'value=""' in paste(other, other.reset("copy-paste", 3))  # and each episode an empty one
    seen = browser.reset("enter-text", 0)
    browser.type(_find(seen, "input"), "one two")
    browser.press("Control+A")
    assert 'value=""' in browser.press("Control+X").text
    browser.press("Control+V")
    assert 'value="one twoone two"' in browser.press("Control+V").text


def test_what_scrolls_by_itself_is_where_it_was_or_where_it_goes_to(browser: MiniWob) -> None:
    """Selecting with the pointer scrolls as long as it takes, and keys scroll smoothly, by the clock on the wall."""

    def course() -> list[str]:
        first = browser.reset("order-food", 0)
        dragged = browser.drag(77, 163, 135, 229)
        assert dragged.text == first.text
        told = [browser.press(key).text for key in ("Space", "ArrowDown", "PageDown")]
        assert told[0] != first.text
        return told

    assert course() == course() == course()
