"""A small sound page, to be broken in one place at a time, and one process that plays again for all audits."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolenvs.audit import Other

ROWS = [
    {"id": "a", "question": "Who keeps the lamp of Ostra?", "answer": "Pavo Kerem", "queries": ["lamp of Ostra"]},
    {"id": "b", "question": "How high is Velm?", "answer": "889", "queries": ["height of Velm"]},
    {
        "id": "c",
        "question": "Which boat is of Ibsa?",
        "answer": "The Grey Heron",
        "queries": ["boat of Ibsa"],
    },
]
PAGE = """
summary = "Small questions, with a tool that knows the answers"

[paper]
title = "none"
url = "https://example.org"

[prompt]
user = "Answer, and look up what you do not know between <ask> and </ask>. {question}"

[protocol]
kind = "planted_protocol:Protocol"
observation = "information"
answer_stops = true
no_call = "malformed"
malformed = "remind"

[protocol.calls.ask]
tool = "planted_tool:Tool"
argument = "query"

[tools."planted_tool:Tool"]

[budget]
max_turns = 4
when_spent = "end"

[judge]
name = "planted_judge:Judge"

[[reward]]
term = "planted_term:Term"

[tasks]
set = "TASKS"
bad_golds = "keep"
"""


@pytest.fixture(scope="session")
def other() -> Iterator[Other]:
    with Other() as process:
        yield process


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes the page and its tasks, and gives its file."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "planted"))

    def write(more: str = "", change: tuple[str, str] = ("", ""), **splits: list[dict[str, Any]]) -> str:
        folder = tmp_path / "tasks"
        folder.mkdir(exist_ok=True)
        for split, rows in (splits or {"train": ROWS}).items():
            write_rows(folder / f"{split}.jsonl", rows)
        tasks = folder if splits else folder / "train.jsonl"
        text = PAGE.replace("TASKS", str(tasks)).replace(*change) if change[0] else PAGE.replace("TASKS", str(tasks))
        file = tmp_path / "Small-v0.toml"
        file.write_text(text + more, "utf-8")
        return str(file)

    return write
