"""Golden transcripts: every budget and every malformed-call path of every page, segment by segment.

Each case in `tests/golden/*.json` says what is played (`page`, `overrides`, `actions`, and `task`, an index into the
page's own tasks, where it is about one of them) and what came of it. To write a case, add these and run
`UPDATE_GOLDEN=1 pytest tests/test_golden.py`; then read what it wrote.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.assets import page_files
from toolenvs.episode import Episode
from toolenvs.tasks.task import Task

_FILES = sorted((Path(__file__).parent / "golden").glob("*.json"))
_TASK = Task(id="golden", question="What is 6 * 7?", golds=("42",), source="golden")


def _play(case: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    needs_tokens = any("token" in key for key in case.get("overrides", {}))
    blueprint = toolenvs.load(case["page"], tokenizer=tokenizer if needs_tokens else None, **case.get("overrides", {}))
    episode = Episode(blueprint, blueprint.tasks[case["task"]] if "task" in case else _TASK)

    async def run() -> list[Any]:
        turns = []
        for action in case["actions"]:
            assert episode.ending is None, f"ended before {action!r}"
            turns.append(await episode.step(action))
        return turns

    turns = loop.run(run())
    return {
        "segments": [
            [segment.author.value + ("" if segment.scored else " unscored"), segment.text]
            for segment in episode.transcript.segments[1:]
        ],
        "calls": [[call.tool, call.status] for turn in turns for call in turn.calls],
        "rewards": [turn.reward for turn in turns],
        "reward_terms": dict(turns[-1].reward_terms),
        "ending": turns[-1].ending,
        "terminated": turns[-1].terminated,
        "truncated": turns[-1].truncated,
        "success": None if episode.verdict is None else episode.verdict.correct,
        "stop": list(episode.stop),
    }


@pytest.mark.parametrize("file", _FILES, ids=[file.stem for file in _FILES])
def test_golden(file: Path, byte_codec: Any, subtests: Any) -> None:
    cases = json.loads(file.read_text("utf-8"))
    for name, case in cases.items():
        played = _play(case, byte_codec)
        if os.environ.get("UPDATE_GOLDEN"):
            case["expected"] = played
            continue
        with subtests.test(name):
            assert played == case["expected"]
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", "utf-8")


def test_every_page_has_a_golden_file() -> None:
    assert {file.stem for file in _FILES} == set(page_files())
