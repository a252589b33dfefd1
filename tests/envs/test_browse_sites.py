"""Browse-v0 over recorded sites and their edited copies: the oracle reads, and memory alone earns nothing on a copy."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import toolenvs
from tests.web.facts import small
from toolenvs import loop
from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import PageError
from toolenvs.rollout import collect
from toolenvs.web import facts


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in small.PAGES:
        small.build(name)


def _over(site: str, **keys: Any) -> Blueprint:
    return toolenvs.load("Browse-v0", **{"tools.browse.site": site}, tasks={"set": "site_pages", "site": site}, **keys)


@pytest.mark.parametrize("name", small.PAGES)
@pytest.mark.parametrize("edited", ["", ":edited:7"])
def test_who_reads_is_right(name: str, edited: str) -> None:
    blueprint = _over(f"sites/{name}{edited}", judge={"name": "browsed", "cited": "line"})
    tasks = [blueprint.tasks[index] for index in range(12)]
    read = loop.run(collect(blueprint, Oracle(blueprint), tasks))
    assert [(one.success, one.metrics) for one in read] == [(1.0, {"cited": 1.0})] * 12
    write = blueprint.protocol.write_answer
    remembered = FromFunction(lambda request: write(request.task.extra.get("recorded", request.task.gold)))
    known = loop.run(collect(blueprint, remembered, tasks))
    assert [(one.success, one.metrics) for one in known] == [(0.0, {"cited": 0.0})] * 12
    if edited:
        plain = _over(f"sites/{name}{edited}")
        assert [one.success for one in loop.run(collect(plain, remembered, tasks))] == [0.0] * 12


def test_a_copys_task_names_what_the_site_says() -> None:
    tasks = _over("sites/git-doc:edited:7").tasks
    told = {task.question: (task.extra["recorded"], task.gold) for task in map(tasks.__getitem__, range(30))}
    assert len(told) > 1
    for question, (before, after) in told.items():
        assert question.startswith("What is the default of the configuration variable shelve.")
        assert before != after
        assert len(before) == len(after)


def test_gym_makes_it() -> None:
    site = "sites/python3-doc"
    keys: dict[str, Any] = {"tools.browse.site": site, "tasks": {"set": "site_pages", "site": site}}
    env = gym.make("toolenvs/Browse-v0", **keys)
    text, _ = env.reset(seed=0)
    assert text == env.reset(seed=0)[0]
    assert "\n\nQuestion: " in text
    env.close()


@pytest.mark.parametrize(
    ("browsed", "asked"),
    [
        ("sites/python3-doc", "sites/git-doc"),
        ("sites/git-doc", "sites/git-doc:edited:1"),
        ("sites/world:1000", "git-doc"),
    ],
)
def test_questions_and_site_are_the_same(browsed: str, asked: str) -> None:
    with pytest.raises(PageError, match=r"is not the site that is browsed; set it to"):
        toolenvs.load("Browse-v0", **{"tools.browse.site": browsed}, tasks={"set": "site_pages", "site": asked})


@pytest.mark.parametrize("edited", ["", ":edited:7"])
def test_questions_of_another_recording_are_no_zero(edited: str) -> None:
    blueprint = _over(f"sites/git-doc{edited}")
    task = blueprint.tasks[0]
    small.record("git-doc", {**small.GIT, "more.html": "<p>More."})
    facts.build("git-doc")
    home = small.URL.format("git-doc") + ("git-config.html" if edited else "git-shelve.html")
    opened_anew = {"tools.browse.home": home}  # a site that is open in this process stays as it was
    played = loop.run(collect(_over(f"sites/git-doc{edited}", **opened_anew), Oracle(blueprint), [task]))
    assert [one.ending for one in played] == ["infrastructure"]
    assert "made from another recording" in (played[0].fault or "")
