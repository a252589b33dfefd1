from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Reason, Recorded, build, from_recordings, from_tasks
from toolenvs.tasks.rows import from_rows
from toolenvs.tasks.task import Task


def test_solutions_come_from_the_first_column_there_is_or_from_the_one_named() -> None:
    task = Task(id="t", question="q", extra={"rationale": "r", "reasoning": "s", "notes": "n"})
    assert [source.solution for source in from_tasks([task])] == ["s"]
    assert [source.solution for source in from_tasks([task], column="notes")] == ["n"]
    assert [source.solution for source in from_tasks([task], column="solution")] == [""]


def test_generated_tasks_carry_their_solution(retool: Blueprint) -> None:
    task = retool.tasks[0]
    (source,) = from_tasks([task])
    assert source.solution.endswith(f"The answer is {task.gold}.")


def rows(**columns: str) -> list[dict[str, object]]:
    call = "<code>\n```python\nprint(6 * 7)\n```\n</code>\n<interpreter>\n42\n</interpreter>\n\n"
    reply = call + "<answer>\\boxed{42}</answer>"
    user = {"role": "user", "content": "Instructions.\n*user question:*\nWhat is 6 * 7?"}
    return [{"messages": [user, {"role": "assistant", "content": reply}], **columns}]


def test_a_released_row_has_no_gold_and_is_kept_only_on_trust(retool: Blueprint) -> None:
    tasks = from_rows(rows())
    assert list(build(retool, from_recordings(tasks), Recorded()).rejected) == [Reason.NO_GOLD]
    (row,) = build(retool, from_recordings(tasks, gold="recorded"), Recorded()).rows
    assert (row.task.golds, row.provenance.gold) == (("42",), "recorded")
    assert "What is 6 * 7?" in row.prompt
    assert "Instructions." not in row.prompt


def test_a_gold_of_the_row_is_never_replaced_by_the_recording_s(retool: Blueprint) -> None:
    tasks = from_rows(rows(answer="43"))
    report = build(retool, from_recordings(tasks, gold="recorded"), Recorded())
    assert list(report.rejected) == [Reason.WRONG_ANSWER]
    (row,) = build(retool, from_recordings(from_rows(rows(answer="42"))), Recorded()).rows
    assert row.provenance.gold == "task"


def test_a_recording_without_an_answer_gives_no_gold(retool: Blueprint) -> None:
    asked = [{"role": "user", "content": "What is 6 * 7?"}]
    report = build(retool, from_recordings(from_rows([{"messages": asked}]), gold="recorded"), Recorded())
    assert list(report.rejected) == [Reason.NO_SOLUTION]
