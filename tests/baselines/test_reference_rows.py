"""The committed rows are of the suite as it is pinned, and say what they are to say."""

import json
from types import ModuleType
from typing import Any

import pytest

from toolenvs import assets
from toolenvs.evaluation import load_suite


@pytest.fixture
def results() -> Any:
    return json.loads((assets.folder("baselines") / "results" / "toolenvs-lite.json").read_text("utf-8"))


def test_they_are_of_the_suite_as_it_is_pinned(results: Any) -> None:
    """Where this fails the suite was pinned anew: `python baselines/reference_rows.py`, its table to docs/eval.md."""
    suite = load_suite("toolenvs-lite")
    pinned = [(page.name, page.page_hash, page.tasks_hash) for page in suite.pages]
    assert [(page["name"], page["page_hash"], page["tasks_hash"]) for page in results["setting"]["pages"]] == pinned
    assert (results["setting"]["n"], results["setting"]["seed"]) == (suite.n, suite.seed)


def test_the_oracle_misses_nothing_and_no_tool_calls_nothing(results: Any) -> None:
    agents = results["agents"]
    for page in results["setting"]["pages"]:
        rows = {agent: agents[agent]["pages"][page["name"]] for agent in agents}
        assert rows["oracle"]["success"] == 1
        assert (rows["no-tool"]["called"], rows["always-call"]["called"]) == (0, 1)
        assert all(row["success"] < 0.5 for agent, row in rows.items() if agent != "oracle")
        assert {row["infrastructure"] for row in rows.values()} == {0}


def test_the_table_of_the_documentation_is_the_one_that_was_measured(results: Any) -> None:
    text = (assets.folder("baselines").parent / "docs" / "eval.md").read_text("utf-8")
    for page in results["setting"]["pages"]:
        figures = [f"{rows['pages'][page['name']]['success']:.3f}" for rows in results["agents"].values()]
        assert f"| {page['name']} ({page['env']}) | {' | '.join(figures)} |" in text


def test_the_script_writes_such_a_file(load_script: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text('summary = "small"\n[[pages]]\nname = "maths"\npage = "ReTool-v0"\ntasks = 2\nsplit = "test"\n')
    script: ModuleType = load_script("reference_rows")
    monkeypatch.setattr("sys.argv", ["x", "--suite", str(suite), "--output", str(tmp_path / "rows.json")])
    script.main()
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert {agent: row["success"] for agent, row in rows["agents"].items()}["oracle"] == 1
