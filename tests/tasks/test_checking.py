"""`check`: bad golds and lenient judges are found before training, equal golds are no fault."""

import pytest

from toolenvs import tasks
from toolenvs.errors import JudgeError, TaskError
from toolenvs.rewards.verdict import Reason, Verdict


def exact(gold: str, answer: str) -> Verdict:
    return Verdict(gold == answer, Reason.MATCH if gold == answer else Reason.MISMATCH)


def yes(gold: str, answer: str) -> Verdict:
    return Verdict(True, Reason.MATCH)


def no(gold: str, answer: str) -> Verdict:
    return Verdict(False, Reason.MISMATCH)


def qa(*golds: object) -> tasks.RowTaskSet:
    return tasks.from_rows([{"id": f"t{i}", "question": f"{i}?", "answer": gold} for i, gold in enumerate(golds)])


@pytest.mark.parametrize("name", ["arithmetic", "number_theory"])
def test_generators_pass_an_exact_judge(name):
    assert tasks.check(tasks.load(name, size=100), exact, strict=True) == []


def test_golds_that_fail_themselves_are_reported():
    assert tasks.check(qa("4"), no) == [("t0", "its gold '4' does not pass its own judge")]


def test_a_judge_that_accepts_anything_is_reported():
    failures = tasks.check(qa("4", ["5", "five"]), yes)
    assert {failure.task_id for failure in failures} == {"t0", "t1"}
    assert [failure.reason for failure in failures if failure.task_id == "t0"] == [
        "its gold '4' accepts the answer ''",
        "its gold '4' accepts the answer '0'",
        "its gold '4' accepts the answer 'A'",
        "its gold '4' accepts the answer '5'",
    ]
    assert "its gold 'five' accepts the answer '4'" in {failure.reason for failure in failures}


@pytest.mark.parametrize(
    ("first", "second"), [("7", "7"), ("0.5", "1/2"), ("7", "7.0"), ("Paris", "paris"), ("-3", " -3.00")]
)
def test_equal_golds_are_no_failure(first, second):
    reasons = [failure.reason for failure in tasks.check(qa(first, second), yes)]
    assert reasons
    assert not any(f"the answer {gold!r}" in reason for gold in (first, second.strip()) for reason in reasons)


@pytest.mark.parametrize("gold", ["0", "0.0", "A", "a", "0/5"])
def test_a_gold_may_be_a_blind_answer(gold):
    reasons = [failure.reason for failure in tasks.check(qa(gold), yes)]
    assert len(reasons) == 2


def test_huge_exponents_are_not_evaluated():
    assert len(tasks.check(qa("1e999999999", "1/0"), exact)) == 0


def test_a_failing_judge_is_reported_for_its_task():
    def broken(gold: str, answer: str) -> Verdict:
        if gold == "raise":
            raise JudgeError("child died")
        return Verdict(False, Reason.JUDGE_ERROR)

    assert tasks.check(qa("raise", "4"), broken) == [
        ("t0", "the judge fails: child died"),
        ("t1", "the judge fails on its gold '4'"),
    ]


def test_tasks_without_gold_are_reported(samples):
    assert tasks.check(tasks.from_rows(samples["retool_sft"]), exact) == [
        ("row-0", "has no gold answer, and the judge needs one (rows: row 1)"),
        ("row-1", "has no gold answer, and the judge needs one (rows: row 2)"),
    ]


def test_strict_raises_with_the_first_failures():
    with pytest.raises(TaskError, match=r"rows: 12 failures .*t0: its gold '0' does not.*; \.\.\.\. Mend the golds"):
        tasks.check(qa(*range(12)), no, strict=True)


def test_other_golds_are_drawn_from_all_over_and_never_from_the_task_itself():
    seen: dict[str, set[str]] = {}

    def spy(gold: str, answer: str) -> Verdict:
        if answer not in (gold, "", "0", "A"):
            seen.setdefault(gold, set()).add(answer)
        return exact(gold, answer)

    golds = qa(*range(10, 60))
    assert tasks.check(golds, spy) == []
    assert len(seen) == 50
    assert len(set().union(*seen.values())) > 20
    before = {gold: set(answers) for gold, answers in seen.items()}
    tasks.check(golds, spy)
    assert seen == before


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_row_of_a_file_without_gold_is_named_by_file_and_row(samples, write, suffix):
    with_gold, without = samples["retool_sft"]
    path = write(f"cold.{suffix}", [{**with_gold, "answer": "2187"}, {**without, "answer": None}])
    place = f"{path}: row 2"
    loaded = tasks.load(path)
    told = "has no gold answer, and the judge needs one"
    assert tasks.check(loaded, exact) == [("row-1", f"{told} ({place})")]
    with pytest.raises(TaskError, match="row 2"):
        tasks.check(loaded, exact, strict=True)
    left = loaded.without(dict(tasks.check(loaded, exact)))
    assert [task.id for task in left] == ["row-0"]
    assert left.skipped[0].where == place


@pytest.mark.parametrize("golds", [("",), ("4", "  ")])
def test_an_empty_gold_is_reported_even_where_the_judge_would_take_it(golds):
    class Few(list):
        name = "few"

    few = Few([tasks.Task(id="t0", question="2 + 2?", golds=golds)])
    assert [f for f in tasks.check(few, exact) if "empty" in f.reason] == [
        ("t0", f"gold {len(golds)} of {len(golds)} is empty, so that an empty answer would be right")
    ]


def test_every_one_of_the_golds_is_held_against_the_judge():
    asked = []

    def spy(gold: str, answer: str) -> Verdict:
        asked.append((gold, answer))
        return exact(gold, answer) if gold != "IV" else no(gold, answer)

    assert tasks.check(qa(["4", "four", "IV"]), spy) == [("t0", "its gold 'IV' does not pass its own judge")]
    for gold in ("4", "four", "IV"):
        assert {answer for held, answer in asked if held == gold} == {gold, "", "0", "A"}
