"""Rows with graded relevance, in every form that they come in."""

from typing import Any

import pytest

from toolenvs import tasks
from toolenvs.errors import TaskError


@pytest.mark.parametrize(
    ("row", "grades"),
    [
        ({"qrels": {"a": 2, "b": 0}}, {"a": 2, "b": 0}),
        ({"qrels": {"a": 1.0, "b": None}}, {"a": 1}),  # parquet fills structs up with nothing
        ({"relevant": ["a", 7]}, {"a": 1, "7": 1}),
        ({"relevant_ids": ["b", "a"]}, {"b": 1, "a": 1}),
        ({"qrels": [{"corpus-id": 7, "score": 3}, {"doc_id": "b"}]}, {"7": 3, "b": 1}),
    ],
)
def test_forms(row: dict[str, Any], grades: dict[str, int]) -> None:
    (task,) = tasks.from_rows([{"_id": "q1", "text": " what? ", **row, "pub_date": "2019"}])
    assert (task.id, task.question, task.extra["relevant"]) == ("q1", "what?", grades)
    assert task.golds == tuple(sorted((key for key in grades if grades[key] > 0), key=lambda key: -grades[key]))
    assert task.extra["pub_date"] == "2019"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"qrels": {"a": 0}}, "no passage of a grade above 0"),
        ({"qrels": []}, "no passage of a grade above 0"),
        ({"qrels": {"a": 0.5}}, "the grade 0.5 is no whole number"),
        ({"qrels": {"a": True}}, "the grade True is no whole number"),
        ({"qrels": "a"}, "it must be ids, or a mapping"),
        ({"qrels": [{"score": 1}]}, "lacks the passage's id"),
        ({"qrels": [None]}, "ids are text or whole numbers"),
        ({"qrels": [" "]}, "ids are text or whole numbers"),
        ({"query": " ", "qrels": ["a"]}, "key 'query' is empty"),
    ],
)
def test_mistakes_are_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        tasks.from_rows([{"query": "q", **row}])


def test_a_schema_by_name_says_what_it_needs() -> None:
    with pytest.raises(TaskError, match="a query .* and its passages .* are needed"):
        tasks.from_rows([{"query": "q", "answer": "a"}], schema="qrels")
