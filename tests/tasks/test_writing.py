"""What is written is read back the same, whatever the columns are called."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.tasks.task import Task
from toolenvs.tasks.writing import as_row, write

_NAMES = st.sampled_from(
    ["hops", "answer", "Question", "golden_answers", "pmid", "problem", "solution", "extra_info", "reward_model", "qid",
     "ground_truth", "search_turns", "prompt", "messages", "data", "level", "id", "metadata", "target", "golds"]
)  # fmt: skip
_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda text: text.strip() == text)
_VALUES = st.one_of(_TEXT, st.integers(-5, 5), st.lists(_TEXT, max_size=3))


@settings(max_examples=60)
@given(
    question=_TEXT,
    golds=st.lists(_TEXT.filter(lambda text: not text.startswith("[")), min_size=1, max_size=3, unique=True),
    source=st.one_of(st.just(""), _TEXT),
    extra=st.dictionaries(_NAMES, _VALUES, max_size=5),
)
def test_rows_are_read_back(question: str, golds: list[str], source: str, extra: dict[str, object]) -> None:
    task = Task(id="a/1", question=question, golds=tuple(golds), source=source, extra=extra)
    [again] = tasks.from_rows([as_row(task)])
    assert (again.id, again.question, again.golds, again.source) == (task.id, question, task.golds, source)
    named = {key.removeprefix("row_"): value for key, value in again.extra.items()}
    assert named == extra


def test_generated_tasks_and_further_columns(tmp_path: Path) -> None:
    made = tasks.load("world", size=5, max_hops=3)
    more = {task.id: {"difficulty": "hard"} for task in made}
    assert write(made, tmp_path / "new" / "world.jsonl", more) == 5
    for task, again in zip(made, tasks.load(tmp_path / "new" / "world.jsonl"), strict=True):
        assert (again.id, again.question, again.golds, again.source) == (task.id, task.question, task.golds, "world")
        assert again.extra["queries"] == list(task.extra["queries"])
        assert again.extra["difficulty"] == "hard"


def test_rendered_prompts_stay_rendered(tmp_path: Path) -> None:
    text = "<|im_start|>user\nWhich town?<|im_end|>\n<|im_start|>assistant\n"
    task = Task(id="r", question=text, golds=("Oldport",), messages=({"role": "user", "content": text},), rendered=True)
    write([task], tmp_path / "rendered.jsonl")
    [again] = tasks.load(tmp_path / "rendered.jsonl")
    assert (again.question, again.rendered, again.messages) == (text, True, task.messages)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    good = Task(id="g", question="q", golds=("a",))
    bad = Task(id="b", question="q", golds=("a",), extra={"file": b"x"})
    write([good], tmp_path / "set.jsonl")
    with pytest.raises(TaskError, match=r"task 'b' holds what JSON does not"):
        write([good, bad], tmp_path / "set.jsonl")
    assert [task.id for task in tasks.load(tmp_path / "set.jsonl")] == ["g"]
    assert [path.name for path in tmp_path.iterdir()] == ["set.jsonl"]
    with pytest.raises(TaskError, match="cannot be written"):
        write([good], tmp_path / "set.jsonl" / "below.jsonl")
