"""baselines/coldstart.py, from settings to files."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from toolenvs.coldstart import read_rows
from toolenvs.errors import ConfigError


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("coldstart")


def test_generated_tasks_to_rows_and_report(script: ModuleType, tmp_path: Path) -> None:
    report = script.main(script.Args(output=str(tmp_path), size=6, options={"difficulty": 2}))
    rows = tuple(read_rows(tmp_path / "rows.jsonl"))
    assert rows == report.rows
    assert len(rows) == 6
    assert rows[0].task.extra["difficulty"] == 2
    assert json.loads((tmp_path / "report.json").read_text())["total"] == 6


def test_released_rows_to_rows_and_report(script: ModuleType, tmp_path: Path) -> None:
    call = "<code>\n```python\nprint(6 * 7)\n```\n</code>\n<interpreter>\n{}\n</interpreter>\n"
    reply = call + "<answer>\\boxed{{42}}</answer>"
    lines = [
        {"messages": [{"role": "user", "content": f"What is 6 * 7? {n}"}, {"role": "assistant", "content": text}]}
        for n, text in enumerate([reply.format(42), reply.format(43), "42"])
    ]
    path = tmp_path / "sft.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {"tasks": str(path), "rewriter": "recorded", "gold": "recorded", "output": str(tmp_path / "out")}
    report = script.main(script.Args(**settings))
    assert len(report.rows) == 1
    figures = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {reason: entry["count"] for reason, entry in figures["rejected"].items()} == {
        "no_answer": 1,
        "wrong_output": 1,
    }
    assert len(script.main(script.Args(**settings, outputs="replace")).rows) == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rewriter": "rule"}, "did you mean 'rules'"),
        ({"outputs": "ignore"}, "--outputs is 'ignore'"),
        ({"gold": "x"}, "--gold is 'x'"),
        ({"rewriter": "model"}, "needs --model"),
    ],
)
def test_a_wrong_setting_is_named(script: ModuleType, tmp_path: Path, setting: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        script.main(script.Args(output=str(tmp_path), **setting))
