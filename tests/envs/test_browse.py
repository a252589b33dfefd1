"""Browse-v0: its questions can be answered by browsing, by links too, and not without."""

import pytest

import toolenvs
from toolenvs import loop, web
from toolenvs.agents.scripted import Oracle, Scripted
from toolenvs.errors import PageError
from toolenvs.rollout import collect

BLUEPRINT = toolenvs.load("Browse-v0")


def test_a_search_and_links_lead_to_every_answer() -> None:
    tasks = [BLUEPRINT.tasks[index] for index in range(100)]
    episodes = loop.run(collect(BLUEPRINT, Oracle(BLUEPRINT), tasks))
    assert [episode.success for episode in episodes] == [1.0] * 100
    assert 2 * max(len(task.extra["calls"]) + 1 for task in tasks) <= BLUEPRINT.page.budget.max_turns


def test_each_further_page_is_a_link_of_the_one_before() -> None:
    tasks = [task for task in map(BLUEPRINT.tasks.__getitem__, range(100)) if task.extra["calls"]]
    assert len(tasks) > 70
    with web.open("sites/world:1000") as browser:
        for task in tasks:
            search, _, *later = task.extra["calls"]
            browser.search(search["query"])
            page = browser.click(0)
            for call in later:
                number = next(link.number for link in page.links if link.url == call["url"])
                page = browser.click(number)
            assert task.gold in page.text


def test_an_agent_that_does_not_browse_earns_what_unanswerable_questions_give() -> None:
    tasks = [BLUEPRINT.tasks[index] for index in range(100)]
    episodes = loop.run(collect(BLUEPRINT, Scripted(["<answer>unknown</answer>"]), tasks))
    assert [bool(episode.success) for episode in episodes] == [not task.extra["answerable"] for task in tasks]


@pytest.mark.parametrize("keys", [{"passages": 200}, {"tasks.world": 1}, {"site": "sites/world:1000:1"}])
def test_questions_and_site_are_of_one_world(keys: dict[str, object]) -> None:
    with pytest.raises(PageError, match="is not the world of the tasks; set it to 'sites/world:"):
        toolenvs.load("Browse-v0", **keys)


def test_another_world() -> None:
    blueprint = toolenvs.load("Browse-v0", site="sites/world:200:3", passages=200, **{"tasks.world": 3})
    tasks = [blueprint.tasks[index] for index in range(10)]
    assert all(episode.success for episode in loop.run(collect(blueprint, Oracle(blueprint), tasks)))
