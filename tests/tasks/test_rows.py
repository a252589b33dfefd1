"""What rows become, whatever their schema: ids, repeats, limits, bad rows."""

import sys

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.tasks.task import TaskSet

QA = [{"id": f"q{i}", "question": f"What is {i} + 1?", "answer": i + 1} for i in range(5)]


def test_row_sets_are_task_sets():
    rows = tasks.from_rows(QA, name="sums")
    assert isinstance(rows, TaskSet)
    assert (rows.name, len(rows), rows[-1], rows.find("q3")) == ("sums", 5, rows[4], rows[3])
    assert [task.id for task in rows] == ["q0", "q1", "q2", "q3", "q4"]
    with pytest.raises(IndexError):
        rows[5]


def test_find_names_the_nearest_id():
    with pytest.raises(TaskError, match="'long-name-7'"):
        tasks.from_rows([{**row, "id": f"long-name-{i + 5}"} for i, row in enumerate(QA)]).find("long-nam-7")
    with pytest.raises(TaskError, match="q0, q1, q2, q3, q4"):
        tasks.from_rows(QA).find("zzz")
    many = tasks.from_rows([{"question": f"{i}?", "answer": i, "id": f"q{i}"} for i in range(1, 1000)])
    with pytest.raises(TaskError, match="it has 999, the first being 'q1'"):
        many.find("unlike")


def test_a_dataset_in_memory_is_rows():
    assert list(tasks.from_rows(datasets.Dataset.from_list(QA))) == list(tasks.from_rows(QA))


def test_repeats_of_dapo_are_dropped_by_index_and_by_content(samples):
    first, second, again = samples["dapo"]
    again["reward_model"]["ground_truth"] = "four"
    other_index = {**first, "extra_info": {**first["extra_info"], "index": "fresh"}}
    rows = tasks.from_rows([first, second, again, other_index])
    assert [task.id for task in rows] == ["9a9b6eb4", "3f2504e0"]
    assert rows.duplicates == 2


def test_aime_repeated_32_times_is_30_problems(samples):
    rows = []
    for index in range(960):
        problem = f"Problem {index % 30}?"
        extra_info = {"index": index, "raw_problem": problem}
        rows.append({**samples["dapo"][0], "extra_info": extra_info, "reward_model": {"ground_truth": index % 30}})
    loaded = tasks.from_rows(rows)
    assert (len(loaded), loaded.duplicates) == (30, 930)


def test_equal_rows_under_one_id_are_dropped_and_unequal_ones_refused():
    rows = tasks.from_rows([*QA, QA[2]])
    assert (len(rows), rows.duplicates) == (5, 1)
    with pytest.raises(TaskError, match=r"rows: row 6: id 'q2' is taken by another question"):
        tasks.from_rows([*QA, {**QA[3], "id": "q2"}])


def test_same_question_under_two_ids_is_two_tasks():
    assert len(tasks.from_rows([QA[0], {**QA[0], "id": "again"}])) == 2


def test_limit_counts_tasks_and_reads_no_further():
    def endless():
        while True:
            yield from ({**row, "id": None} for row in QA)

    assert len(tasks.from_rows(endless(), limit=3)) == 3
    skipping = tasks.from_rows([{}, {}, *QA], limit=2, on_bad_row="skip")
    assert ([task.id for task in skipping], len(skipping.skipped)) == (["q0", "q1"], 2)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "holds no task"),
        (QA, {"limit": 0}, "limit is 0; give at least 1"),
        (QA, {"limit": 1.5}, "limit is 1.5; give at least 1, a whole number"),
        (QA, {"on_bad_row": "ignore"}, "give 'error' or 'skip'"),
        (QA, {"schema": "dappo"}, "did you mean 'dapo'"),
        ([3], {}, "row 1: is int; a row must map columns to values"),
        ([{"text": "x"}], {}, "row 1: no schema matches the keys text; schemas: .*plain"),
        ([{"id": 1}, {"id": 2}], {"on_bad_row": "skip"}, r"all 2 rows were skipped, the first \(rows: row 1\)"),
    ],
)
def test_errors_say_what_to_do(rows, options, message):
    with pytest.raises(TaskError, match=message):
        tasks.from_rows(rows, **options)


def test_two_matching_schemas_are_an_error_until_one_is_named(samples):
    row = {**samples["dapo"][0], "ability": "fact-reasoning"}
    with pytest.raises(TaskError, match="dapo and search_r1; say which with schema="):
        tasks.from_rows([row])
    assert tasks.from_rows([row], schema="dapo")[0].golds == ("4",)


def test_the_first_usable_row_chooses_the_schema(samples):
    rows = tasks.from_rows([None, *samples["search_r1"], {"question": "Q", "answer": "A"}], on_bad_row="skip")
    assert len(rows) == 2
    assert [skip.where for skip in rows.skipped] == ["rows: row 1", "rows: row 4"]


def test_nesting_without_end_is_a_bad_row():
    deep: list = []
    for _ in range(sys.getrecursionlimit()):
        deep = [deep]
    with pytest.raises(TaskError, match="row 1: is nested too deep"):
        tasks.from_rows([{"question": "Q", "answer": "1", "tree": deep}])


def test_missing_numbers_are_missing():
    row = {"question": "Q", "answer": np.float64("nan"), "target": "7", "score": float("nan")}
    task = tasks.from_rows([row])[0]
    assert (task.golds, task.extra["score"]) == (("7",), None)


def test_id_columns_with_gaps_are_still_integers():
    assert tasks.from_rows([{"id": 3.0, "question": "Q", "answer": 1.0}])[0].id == "3"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
columns = st.sampled_from(
    ["question", "answer", "prompt", "messages", "reward_model", "extra_info", "id", "data_source", "source", "ability"]
)


@given(st.lists(st.dictionaries(columns | st.text(max_size=3), json_values, max_size=6), max_size=4))
def test_any_rows_give_good_tasks_or_a_task_error(rows):
    try:
        loaded = tasks.from_rows(rows, on_bad_row="skip")
    except TaskError:
        return
    assert len(loaded) + len(loaded.skipped) + loaded.duplicates == len(rows)
    assert len({task.id for task in loaded}) == len(loaded)
    for task in loaded:
        assert task.question.strip()
        assert all(gold.strip() == gold != "" for gold in task.golds)
