"""PaperSearchQA-v0 over rows as they are published."""

import json
from pathlib import Path

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.episode import Episode

ROW = {
    "question_original": "Which gene is mutated in Orrin syndrome?",
    "question": "In Orrin syndrome, what gene carries the mutation?",
    "answer": "LOM1",
    "is_paraphrased": True,
    "cat_num": "1",
    "cat": "Genetic mutations",
    "pmid": "30000001",
    "golden_answers": ["LOM1", "lomirin 1", "lomirin-1"],
}


@pytest.mark.parametrize(("answer", "reward"), [("LOM1", 1.0), ("the Lomirin 1", 1.0), ("lom", 0.0), ("", 0.0)])
def test_any_synonym_is_right(tmp_path: Path, answer: str, reward: float) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(ROW) + "\n", "utf-8")
    blueprint = toolenvs.load("PaperSearchQA-v0", **{"tasks.set": str(file)})
    [task] = blueprint.tasks
    assert (task.question, task.extra["pmid"]) == (ROW["question"], "30000001")
    assert f"Question: {task.question}" in blueprint.render_prompt(task)
    assert loop.run(Episode(blueprint, task).step(f"<answer>{answer}</answer>")).reward == reward
