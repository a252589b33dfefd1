"""Several queries as one search: what is shown, what is cut, what is told to the model."""

from typing import Any

import pytest

from tests.tools.retrievers import Recorded
from toolenvs import loop, schema
from toolenvs.errors import RetrievalError, ToolError
from toolenvs.retrieval import Hit, shared
from toolenvs.tasks.task import Task
from toolenvs.tools.rewrites import Options, Tool


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded([[Hit("7", 1.0, "A", "one two  three"), Hit("8", 0.5, "", "four")], [Hit("8", 2.0, "", "four")]])
    monkeypatch.setattr(shared, "retriever", lambda index, backend: made)
    return made


def call(options: dict[str, Any], arguments: dict[str, Any]) -> Any:
    async def run() -> Any:
        session = await Tool(schema.read(Options, options, "test")).open(
            Task(id="t", question="q"), seed=0, progress=0.0
        )
        assert await session.fork() is session
        try:
            return await session.call(arguments)
        finally:
            await session.close()

    return loop.run(run())


def test_what_is_shown(recorded: Recorded) -> None:
    result = call({"passage_words": 3}, {"query_list": ["a", "b"]})
    assert result.text == "<doc1>four</doc1>\n<doc2>A one two</doc2>"
    assert result.data == {"queries": ["a", "b"], "ids": ["8", "7"]}
    assert recorded.asked == (["a", "b"], 10)
    assert call({"topk": 1}, {"query_list": ["a", "b"]}).data["ids"] == ["8"]
    assert call({"below": 2.0}, {"query_list": ["a", "b"]}).data["ids"] == ["7", "8"]


def test_what_is_searched_is_bounded(recorded: Recorded) -> None:
    assert call({"max_queries": 2, "query_chars": 3}, {"query_list": ["abcd", "b", "c"]}).data["queries"] == [
        "abc",
        "b",
    ]
    with pytest.raises(RetrievalError, match="answered 1 queries with 2 lists"):
        call({}, {"query_list": ["a"]})


@pytest.mark.parametrize("wrong", [None, [], "a", [1], ["a", None], {"a": 1}])
def test_what_is_no_list_of_queries_is_told_to_the_model(recorded: Recorded, wrong: Any) -> None:
    with pytest.raises(ToolError, match="must be a list of strings"):
        call({}, {"query_list": wrong})
