"""Task sets with a number on each task, and a run that asks a selector as `Experience` does."""

import pytest

from toolenvs.tasks.rows import from_rows


@pytest.fixture(scope="session")
def make_tasks():
    """`make_tasks(7)`: tasks t0 to t6, of difficulty 0 to 6; `questions` says what they ask."""

    def make(count, questions=None, **columns):
        rows = [
            {
                "id": f"t{index}",
                "question": questions[index] if questions else f"What is {index} plus {index}?",
                "answer": "1",
                "difficulty": index,
                **{name: values[index] for name, values in columns.items()},
            }
            for index in range(count)
        ]
        return from_rows(rows)

    return make


def ask(selector, count, progress, rate):
    """One rollout: what was tried first, and what was taken; a task has its rate of success, or None for a failure."""
    tried = selector.reference(count)
    if tried:
        selector.observe({f"t{index}": [rate(index)] for index in tried if rate(index) is not None})
    taken = selector.take(count, progress)
    selector.observe({f"t{index}": [rate(index)] for index in taken if rate(index) is not None})
    return tried, taken


@pytest.fixture(scope="session", name="ask")
def ask_fixture():
    return ask
