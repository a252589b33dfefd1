from collections.abc import Callable
from pathlib import Path

import pytest

from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Recorded, Rules, Source, build, from_tasks, read_rows, write_rows
from toolenvs.errors import ConfigError


def test_rows_come_back_as_they_were(
    env: Blueprint, recorded: Callable[..., Source], retool_text: Callable[..., str], tmp_path: Path
) -> None:
    rows = build(env, from_tasks([env.tasks[0], env.tasks[1]]), Rules()).rows
    rows += build(env, [recorded(retool_text("print('é\u2028x')", "é\u2028x"))], Recorded()).rows
    rows += build(env, [recorded("half a pair: \ud800. " + retool_text())], Recorded()).rows
    assert len(rows) == 4
    path = tmp_path / "new" / "rows.jsonl"
    write_rows(path, rows)
    assert tuple(read_rows(path)) == rows
    assert [file.name for file in path.parent.iterdir()] == ["rows.jsonl"]


def test_equal_builds_write_equal_files(retool: Blueprint, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / name, build(retool, from_tasks([retool.tasks[0]]), Rules()).rows)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("line", ["{}", "[", "[1]", '{"task": {}, "segments": [], "provenance": {}}'])
def test_a_line_that_is_no_row_is_named(retool: Blueprint, tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    write_rows(path, build(retool, from_tasks([retool.tasks[0]]), Rules()).rows)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ConfigError, match=r"rows\.jsonl, line 2: not a cold-start row"):
        list(read_rows(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no cold-start rows at"):
        list(read_rows(tmp_path / "none.jsonl"))
