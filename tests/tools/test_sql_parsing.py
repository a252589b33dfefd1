"""What the SQL tool does with a parser: off by default, and never what decides whether a query runs."""

import sys
from typing import Any

import pytest

from toolenvs import blueprint
from toolenvs.databases.base import Database
from toolenvs.errors import ConfigError, MissingExtraError, ToolError
from toolenvs.rollout import collect
from toolenvs.rollout.agent import Action, Request
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult
from toolenvs.tools.sql import Options, Tool


async def call(query: str, **options: Any) -> ToolResult:
    session = await Tool(Options(database="world:1000", **options)).open(Task(id="t", question=""), seed=0, progress=0)
    return await session.call({"query": query})


async def test_without_the_keys_nothing_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    result = await call("SELECT name FROM place LIMIT 1")
    assert result.status == "ok"
    assert not {"reads", "ran"} & set(result.data)
    assert (await call("SELECT TOP 1 name FROM place")).text == 'Error (sql): near "1": syntax error'
    for key in ({"linking": True}, {"hints": True}, {"dialect": "postgres"}):
        with pytest.raises(MissingExtraError, match=r"toolenvs\[sql\]"):
            Tool(Options(**key))


async def test_linking_says_what_a_query_reads() -> None:
    result = await call("SELECT p.name FROM place p WHERE p.population > 5", linking=True)
    assert result.data["reads"] == {"tables": ("place",), "columns": ("place.name", "place.population")}
    assert result.data["columns"] == ("name",)  # of the result
    failed = await call("SELECT nome FROM place", linking=True)
    assert failed.data["reads"] == {"tables": ("place",), "columns": ()}
    assert (await call("SELECT FROM FROM", linking=True)).data["reads"] is None
    assert "reads" not in (await call(".schema place", linking=True)).data


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        (
            "SELECT TOP 2 name FROM place",
            "\n(This is no SQL of sqlite but of tsql; it can be written so: SELECT name FROM place LIMIT 2)",
        ),
        (
            "SELECT IF(area > 10, 1, 0) FROM country",
            "\n(This is no SQL of sqlite; it can be written so: SELECT IIF(area > 10, 1, 0) FROM country)",
        ),
        ("SELECT TOP 2 nome FROM place", ""),  # no such column in any dialect
        ("SELECT nome FROM place", ""),
        ("SELECT 1 +", ""),
        ("DELETE FROM place", ""),
        ("SELECT name FROM place LIMIT 1", ""),
    ],
)
async def test_a_hint_is_a_query_that_runs(query: str, hint: str) -> None:
    plain, hinted = await call(query), await call(query, hints=True)
    assert hinted.text == plain.text + hint
    assert hinted.status == plain.status


async def test_hints_run_few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    query = Database.aquery

    async def counted(self: Database, sql: str, **options: Any) -> Any:
        ran.append(sql)
        return await query(self, sql, **options)

    monkeypatch.setattr(Database, "aquery", counted)
    await call("SELECT DATE_TRUNC('month', x), STRPOS(x, 'y'), x::date, NVL(x, 1) FROM nowhere", hints=True)
    assert 1 <= len(ran) <= 4


async def test_a_page_may_have_queries_of_another_dialect() -> None:
    query = "SELECT name::text FROM place WHERE name ILIKE 'k%' ORDER BY name LIMIT 1"
    assert (await call(query)).status == "error"
    result = await call(query, dialect="postgres")
    assert (result.status, result.data["sql"], result.data["rows"]) == ("ok", query, 1)
    assert result.data["ran"] == (
        "SELECT CAST(name AS TEXT) FROM place WHERE LOWER(name) LIKE LOWER('k%') ORDER BY name NULLS LAST LIMIT 1"
    )
    assert (await call("DROP TABLE place; SELECT 1", dialect="postgres")).text.startswith("Refused (")
    assert (await call(".tables", dialect="postgres")).text.startswith("company, ")
    with pytest.raises(ToolError, match="the query is not SQL of postgres that sqlite can run: .* line 1, column 12"):
        await call("SELECT TOP 2 name FROM place", dialect="postgres")
    with pytest.raises(ConfigError, match="did you mean 'mysql'"):
        await call("SELECT 1", dialect="mysqll")


class Writes:
    """An agent that writes its turns, one after the other."""

    def __init__(self, *turns: str) -> None:
        self.turns = turns

    async def act(self, request: Request) -> Action:
        return Action(text=self.turns[request.turn - 1])

    def release(self, key: str) -> None: ...


async def test_the_judge_reads_the_dialect_too_and_info_tells_all() -> None:
    keys = {"tools.sql.linking": True, "tools.sql.dialect": "tsql", "judge.dialect": "tsql", "tasks.max_level": 1}
    env = blueprint.load("toolenvs/SQL-v0", **keys)
    task = next(task for task in (env.tasks[index] for index in range(200)) if " LIMIT 1" in task.gold)
    query = task.gold.replace("SELECT ", "SELECT TOP 1 ", 1).replace(" LIMIT 1", "")
    wrong = query.replace("TOP 1", "LIMIT 1")
    turns = {query: 1.0, task.gold: 1.0, wrong: 0.0}
    for answer, success in turns.items():
        agent = Writes(f"<sql>{query}</sql>", f"<solution>{answer}</solution>")
        (episode,) = await collect(env, agent, [task])
        assert episode.success == success
        (made,) = episode.calls
        assert made.status == "ok"
    plain = blueprint.load("toolenvs/SQL-v0", **{"tasks.max_level": 1})
    (episode,) = await collect(plain, Writes(f"<solution>{query}</solution>"), [task])
    assert episode.success == 0
