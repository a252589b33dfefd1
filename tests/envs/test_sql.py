"""The SQL pages: what they ask, what a lucky query earns, and BIRD's files as they are."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.agents.scripted import Oracle
from toolenvs.databases.pool import Pool
from toolenvs.env import ToolEnv
from toolenvs.episode import Episode
from toolenvs.errors import TaskError
from toolenvs.rollout.collect import collect

PAGES = ("SQL-v0", "SkyRLSQL-v0", "BirdSQL-v0")


@pytest.mark.parametrize("page", PAGES)
async def test_the_gold_is_worth_one(page: str) -> None:
    blueprint = toolenvs.load(page)
    trajectories = await collect(blueprint, Oracle(blueprint), [blueprint.tasks[index] for index in range(12)])
    assert [trajectory.reward for trajectory in trajectories] == [1.0] * 12


@pytest.mark.parametrize("page", PAGES)
def test_the_prompt_shows_the_schema_and_nothing_of_the_gold(page: str) -> None:
    blueprint = toolenvs.load(page)
    task = blueprint.tasks[0]
    prompt = Episode(blueprint, task).transcript.segments[0].text
    assert "CREATE TABLE place (" in prompt
    assert "REFERENCES country (id)" in prompt
    assert task.question in prompt
    assert task.gold not in prompt
    assert "{schema}" not in prompt
    assert "{evidence}" not in prompt


def test_a_question_may_hold_the_name_of_a_placeholder() -> None:
    blueprint = toolenvs.load("SQL-v0")
    task = blueprint.tasks[0]
    odd = type(task)(id="odd", question="What is {schema}?", golds=task.golds, extra={"evidence": "{question}"})
    prompt = Episode(blueprint, odd).transcript.segments[0].text
    assert "Question: What is {schema}?" in prompt
    assert "\n{question}\n" in prompt


def test_single_table_questions() -> None:
    blueprint = toolenvs.load("SQL-v0", max_level=1)
    assert all(" JOIN " not in blueprint.tasks[index].gold for index in range(50))


def test_the_same_transcript_in_any_order_of_episodes() -> None:
    def play(index: int) -> str:
        env = ToolEnv("SQL-v0")
        env.reset(seed=index, options={"task": index})
        shown = [env.step(f"<sql>{query}</sql>")[0] for query in ("SELECT random(), date('now')", "SELECT * FROM work")]
        env.close()
        return "".join(shown)

    first = [play(index) for index in (0, 1)]
    assert [play(index) for index in (1, 0)] == first[::-1]


def test_a_fork_goes_on_by_itself() -> None:
    env = ToolEnv("SQL-v0")
    env.reset(options={"task": 0})
    env.step("<sql>SELECT 1</sql>")
    (copy,) = env.fork()
    gold = toolenvs.load("SQL-v0").tasks[0].gold
    assert copy.step(f"<solution>{gold}</solution>")[1] == 1
    assert env.step("<solution>SELECT 1</solution>")[1] == 0


@pytest.mark.parametrize(("page", "messages"), [("SkyRLSQL-v0", 0), ("SQL-v0", 1)])
def test_an_answer_that_the_tool_ran_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, page: str, messages: int
) -> None:
    env = ToolEnv(page)
    gold = env.blueprint.tasks[0].gold
    env.reset(options={"task": 0})
    env.step(f"<think>t</think><solution>{gold}</solution>")  # the gold is run once, and so are its copies
    env.reset(options={"task": 0})
    said = f"SELECT * FROM ({gold}) AS {page[:3]}"
    env.step(f"<think>t</think><sql>{said}</sql>")
    sent, aexchange = [], Pool.aexchange

    async def noted(self: Pool, frame: bytes, timeout_s: float) -> Any:
        sent.append(frame)
        return await aexchange(self, frame, timeout_s)

    monkeypatch.setattr(Pool, "aexchange", noted)
    assert env.step(f"<think>t</think><solution>{said}</solution>")[1] == 1
    assert len(sent) == messages  # one for all changed copies
    env.reset(options={"task": 0})
    assert env.step(f"<think>t</think><solution>{said}</solution>")[1] == 1
    assert len(sent) == messages
    env.close()


@pytest.fixture
def bird(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = []
    for identity, town in (("atlas", "Oldport"), ("gazetteer", "Lomir")):
        path = tmp_path / "dev_databases" / identity / f"{identity}.sqlite"
        path.parent.mkdir(parents=True)
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE city (name TEXT, people INTEGER)")
            base.executemany("INSERT INTO city VALUES (?, ?)", [(f"{town} {n}", n * 100) for n in range(1, 41)])
            base.commit()
        for sql in ("SELECT name FROM city WHERE people > 3500", f"SELECT people FROM city WHERE name = '{town} 7'"):
            rows.append(
                {
                    "question_id": len(rows), "db_id": identity, "question": f"Which of number {len(rows)}?",
                    "evidence": "people are counted in tens", "SQL": sql, "difficulty": "simple",
                }
            )  # fmt: skip
    (tmp_path / "dev.json").write_text(json.dumps(rows))
    return tmp_path


def test_bird_files_as_they_are(bird: Path) -> None:
    tasks = {"set": str(bird), "split": "dev"}
    blueprint = toolenvs.load("BirdSQL-v0", tasks=tasks)
    assert len(blueprint.tasks) == 4
    episode = Episode(blueprint, blueprint.tasks[2])
    prompt = episode.transcript.segments[0].text
    assert "'Lomir 1'" in prompt
    assert "Hint: people are counted in tens" in prompt
    turn = loop.run(episode.step("<think>t</think><answer>SELECT name FROM city WHERE people >= 3600</answer>"))
    assert turn.reward == 1
    careful = toolenvs.load("BirdSQL-v0", tasks=tasks, metric="careful")
    turn = loop.run(
        Episode(careful, careful.tasks[2]).step("<answer>SELECT name FROM city WHERE people > 3550</answer>")
    )
    assert turn.reward == 0  # no town of the given data lies between


def test_one_file_and_the_folder_of_the_databases(bird: Path) -> None:
    keys = {"tasks": {"set": str(bird / "dev.json")}, "judge.databases": str(bird / "dev_databases")}
    blueprint = toolenvs.load("BirdSQL-v0", **{"judge.database": ""}, **keys)
    assert len(blueprint.tasks) == 4
    with pytest.raises(TaskError, match="does not say which database it is about: load the set's folder"):
        _ = toolenvs.load("BirdSQL-v0", tasks=keys["tasks"], **{"judge.database": ""}).tasks


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nme FROM city", r"its gold query fails \(error: no such column: nme"),
        ("SELECT name FROM city WHERE people < 0", "finds nothing"),
        ("SELECT name FROM city LIMIT 2", "has a LIMIT and no order"),
    ],
)
def test_golds_that_cannot_be_judged_by_are_refused_or_dropped(bird: Path, sql: str, reason: str) -> None:
    rows = json.loads((bird / "dev.json").read_text())
    rows[1]["SQL"] = sql
    (bird / "dev.json").write_text(json.dumps(rows))
    tasks = {"set": str(bird), "split": "dev"}
    with pytest.raises(TaskError, match=f"the judge of BirdSQL-v0 refuses 1 golds: 1: .*{reason}"):
        _ = toolenvs.load("BirdSQL-v0", tasks=tasks).tasks
    kept = toolenvs.load("BirdSQL-v0", tasks={**tasks, "bad_golds": "drop"}).tasks
    assert [task.id for task in kept] == ["0", "2", "3"]


def test_a_gold_that_does_not_discriminate_is_refused(bird: Path) -> None:
    rows = json.loads((bird / "dev.json").read_text())
    rows[0]["SQL"] = "SELECT min(1) FROM city"
    (bird / "dev.json").write_text(json.dumps(rows))
    with pytest.raises(TaskError, match="the same on each of 4 changed copies: it does not discriminate"):
        _ = toolenvs.load("BirdSQL-v0", tasks={"set": str(bird), "split": "dev"}, metric="careful").tasks


def test_spider_test_suite_runs_on_every_database_beside(bird: Path) -> None:
    source = bird / "dev_databases" / "atlas" / "atlas.sqlite"
    with contextlib.closing(sqlite3.connect(source.with_name("atlas_2.sqlite"))) as base:
        base.execute("CREATE TABLE city (name TEXT, people INTEGER)")
        base.execute("INSERT INTO city VALUES ('Between', 3520)")
        base.commit()
    blueprint = toolenvs.load("BirdSQL-v0", tasks={"set": str(bird), "split": "dev"}, metric="spider_test_suite")

    def reward(query: str) -> float:
        return loop.run(Episode(blueprint, blueprint.tasks[0]).step(f"<answer>{query}</answer>")).reward

    assert reward("SELECT DISTINCT name FROM city WHERE people > 3500") == 1
    assert reward("SELECT name FROM city WHERE people > 3550") == 0
