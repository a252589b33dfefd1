import asyncio
from collections.abc import Callable, Iterator

import pytest

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import (
    Failure,
    Outcome,
    Program,
    Reason,
    Recorded,
    Recording,
    Rules,
    Source,
    abuild,
    build,
    from_tasks,
)
from toolenvs.errors import ConfigError, JudgeError, SandboxError
from toolenvs.protocols.base import Protocol


def test_generated_solutions_are_kept_whole(env: Blueprint) -> None:
    tasks = [env.tasks[index] for index in range(12)]
    report = build(env, from_tasks(tasks), Rules())
    assert [row.task for row in report.rows] == tasks
    assert report.kept == 1.0
    assert all(row.provenance.calls == 2 for row in report.rows)


def test_a_program_that_the_task_carries_is_a_demonstration_too() -> None:
    theory = blueprint.load("ReTool-v0", **{"tasks.set": "number_theory"})
    tasks = [theory.tasks[index] for index in range(8)]
    report = build(theory, from_tasks(tasks), Program())
    assert len(report.rows) == 8
    report = build(theory, from_tasks(tasks), Rules())
    assert {reason: entry.count for reason, entry in report.rejected.items()} == {Reason.NO_SOLUTION: 8}
    assert [len(entry.examples) for entry in report.rejected.values()] == [3]


def test_every_source_is_counted_once_and_told_of_once(
    retool: Blueprint, recorded: Callable[..., Source], retool_text: Callable[..., str]
) -> None:
    texts = [
        retool_text(),
        retool_text(output="1"),
        retool_text(answer="1"),
        retool_text(output="1"),
        "nothing",
        retool_text(),
    ]
    told: list[Outcome] = []
    sources = [recorded(text, name=str(number)) for number, text in enumerate(texts)]
    report = build(retool, sources, Recorded(), on_outcome=told.append)
    assert [row.task.id for row in report.rows] == ["0", "5"]
    assert {reason: entry.count for reason, entry in report.rejected.items()} == {
        Reason.NO_ANSWER: 1,
        Reason.WRONG_OUTPUT: 2,
        Reason.WRONG_ANSWER: 1,
    }
    assert [task for task, _ in report.rejected[Reason.WRONG_OUTPUT].examples] == ["1", "3"]
    assert report.total == len(told) == 6
    assert report.kept == pytest.approx(2 / 6)
    figures = report.to_json()
    assert (figures["total"], figures["rows"], figures["calls"]) == (6, 2, 2)
    assert str(report).startswith("kept 2 of 6 (33.3%)")
    assert "     2 wrong_output, as 1: call 1 gives '408'; recorded is '1'" in str(report)


def test_equal_seeds_give_equal_rows_whatever_the_concurrency(
    retool: Blueprint, recorded: Callable[..., Source], retool_text: Callable[..., str]
) -> None:
    code = "import random\nprint(random.random(), sorted({'a', 'b', 'c'}), list({'a', 'b', 'c'}))"
    sources = [recorded(retool_text(code), name=str(number)) for number in range(6)]
    first, second = (
        build(retool, sources, Recorded(), outputs="replace", seed=3, concurrency=concurrency) for concurrency in (1, 5)
    )
    assert first.rows == second.rows
    assert len(first.rows) == 6
    other = build(retool, sources, Recorded(), outputs="replace", seed=4)
    assert other.rows[0].transcript != first.rows[0].transcript


class Faulty:
    """Fails on a source the first `times` times, then reads it."""

    name = "faulty"

    def __init__(self, times: int) -> None:
        self.times = times

    async def rewrite(self, source: Source, protocol: Protocol) -> Recording:
        if self.times:
            self.times -= 1
            raise SandboxError("the endpoint is down")
        recording = await Recorded().rewrite(source, protocol)
        assert isinstance(recording, Recording)
        return recording


@pytest.mark.parametrize(("times", "rows"), [(0, 1), (1, 1), (2, 0)])
def test_a_failure_is_tried_once_more_and_never_a_rejection(
    retool: Blueprint, recorded: Callable[..., Source], retool_text: Callable[..., str], times: int, rows: int
) -> None:
    report = build(retool, [recorded(retool_text())], Faulty(times))
    assert len(report.rows) == rows
    assert report.rejected == {}
    assert report.failures == (() if rows else (Failure("t", "the endpoint is down"),))
    assert report.total == 1
    if not rows:
        assert report.kept != report.kept  # NaN: nothing was judged
        assert "1 lost to infrastructure, as t: the endpoint is down" in str(report)


@pytest.mark.parametrize("broken", ["tool", "judge"])
def test_a_tool_or_judge_that_fails_rejects_nothing(
    recorded: Callable[..., Source], retool_text: Callable[..., str], broken: str
) -> None:
    env = blueprint.load("ReTool-v0", **{"tasks.set": "arithmetic"})
    asked: list[int] = []

    async def fail(*args: object, **kwargs: object) -> None:
        asked.append(1)
        raise JudgeError("no verdict") if broken == "judge" else SandboxError("dead")

    if broken == "judge":
        env.judge = fail
    else:
        env.tools["python"].open = fail
    report = build(env, [recorded(retool_text())], Recorded())
    assert [failure.fault for failure in report.failures] == ["no verdict" if broken == "judge" else "dead"]
    assert len(asked) == 2
    assert (report.rows, report.rejected) == ((), {})


async def test_sources_are_taken_as_workers_become_free_and_never_more_at_once(
    retool: Blueprint, recorded: Callable[..., Source], retool_text: Callable[..., str]
) -> None:
    taken: list[int] = []
    running: list[int] = []
    most = 0

    def sources() -> Iterator[Source]:
        for number in range(9):
            taken.append(number)
            yield recorded(retool_text(), name=str(number))

    class Watched:
        name = "watched"

        async def rewrite(self, source: Source, protocol: Protocol) -> object:
            nonlocal most
            running.append(1)
            most = max(most, len(running))
            assert len(taken) <= int(source.task.id) + 3
            await asyncio.sleep(0)
            running.pop()
            return await Recorded().rewrite(source, protocol)

    report = await abuild(retool, sources(), Watched(), concurrency=3)
    assert (len(report.rows), most) == (9, 3)


def test_no_source_is_no_row(retool: Blueprint) -> None:
    report = build(retool, [], Rules())
    assert (report.total, report.rows) == (0, ())


def test_nobody_at_work_is_an_error_and_no_empty_report(retool: Blueprint) -> None:
    with pytest.raises(ConfigError, match="concurrency is 0"):
        build(retool, from_tasks([retool.tasks[0]]), Rules(), concurrency=0)
