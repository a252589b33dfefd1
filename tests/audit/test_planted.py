"""Faults that are planted, one at a time, in a page that is sound without them: each must be found, by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolenvs.audit import Other, audit, probes
from toolenvs.budget import Meter
from toolenvs.episode import Episode
from toolenvs.tools.base import ToolResult

Page = Callable[..., str]
TOOL, JUDGE, TERM, PROTOCOL = (
    "tools.planted_tool:Tool.fault", "judge.fault", "reward.planted_term:Term.fault", "protocol.fault",
)  # fmt: skip
BROKEN = [
    (JUDGE, "pays silence", "answers.empty"),
    (JUDGE, "pays a phrase", "answers.generic"),
    (JUDGE, "pays length", "answers.oversized"),
    (JUDGE, "finds the gold anywhere", "answers.several"),
    (JUDGE, "finds the gold anywhere", "answers.numbers"),
    (JUDGE, "folds scripts", "answers.lookalike"),
    (JUDGE, "falls over letters", "answers.crash"),
    (JUDGE, "reads the tool", "reading.observation"),
    (JUDGE, "reads calls", "reading.call"),
    (JUDGE, "reads tags", "forgery.paid"),
    (JUDGE, "says wrong without a gold", "accounts.goldless"),
    (JUDGE, "scores 1.5", "accounts.verdict"),
    (JUDGE, "never satisfied", "solving.unsolvable"),
    (TERM, "pays failure", "solving.underpaid"),
    (TERM, "pays infinity", "accounts.number"),
    (TERM, "pays each answer", "answers.repeated"),
    (TERM, "pays each call", "answers.calls"),
    (TERM, "pays no answer", "accounts.overpaid"),
    (TOOL, "answers unasked", "leaks.unasked"),
    (TOOL, "draws without the seed", "determinism.twice"),
    (TOOL, "keeps a count of the process", "determinism.twice"),
    (TOOL, "hashes strings", "determinism.process"),
    (TOOL, "dies", "accounts.infrastructure"),
    (TOOL, "forks share their state", "determinism.shared"),
    (TOOL, "forks forget", "determinism.fork"),
    (PROTOCOL, "names no markers", "markers.observation"),
    (PROTOCOL, "forgets the chat tokens", "markers.observation"),
    (PROTOCOL, "masks nothing", "forgery.scored"),
    (PROTOCOL, "masks one spelling", "forgery.scored"),
    (PROTOCOL, "tells turns by tags", "forgery.believed"),
    (PROTOCOL, "believes a tool's tags", "markers.turns"),
    (PROTOCOL, "reads slowly", "budgets.slow"),
    (PROTOCOL, "falls over what is not closed", "budgets.crash"),
]


def faults(page: str, other: Other, **more: Any) -> set[str]:
    return {finding.name for finding in audit(page, other=other, **more).faults}


def test_the_page_is_sound_without_them(page: Page, other: Other) -> None:
    report = audit(page(), other=other)
    assert report.faults == ()
    assert {finding.name for finding in report.findings if finding.level == "note"} == {
        "solving.untooled", "splits.single",
    }  # fmt: skip
    assert {finding.name for finding in report.findings if finding.level == "ok"} == {
        probe.name for probe in probes()
    } - {"solving", "splits"}


@pytest.mark.parametrize(("where", "fault", "name"), BROKEN, ids=[f"{fault}: {name}" for _, fault, name in BROKEN])
def test_a_broken_part_is_found(page: Page, other: Other, where: str, fault: str, name: str) -> None:
    report = audit(page(), other=other, **{where: fault})
    (found,) = [finding for finding in report.faults if finding.name == name]
    assert found.remedy
    assert found.got or found.action


def test_a_tool_that_cannot_fork_is_run_again_and_no_fault(page: Page, other: Other) -> None:
    assert faults(page(), other, only=["determinism"], **{TOOL: "cannot fork"}) == set()


def test_a_prompt_that_hints(page: Page, other: Other) -> None:
    file = page(change=('{question}"', '{question} {hint}"'))
    assert "leaks.prompt" in faults(file, other, only=["leaks"], **{JUDGE: "hints"})


def _row(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": f"row{number}",
        "question": f"Who lives in house {number}?",
        "answer": f"Ulla {number}",
    } | changed


def test_rows_that_say_their_answers(page: Page, other: Other) -> None:
    rows = [_row(number, question=f"Say Ulla {number}, what is it?") for number in range(3)]
    assert "leaks.question" in faults(page(train=rows), other, only=["leaks"])
    rows = [_row(number, id=f"house/Ulla {number}") for number in range(3)]
    assert faults(page(train=rows), other, only=["leaks"]) == {"leaks.info"}


def test_splits_that_share_tasks(page: Page, other: Other) -> None:
    train, test = [_row(n) for n in range(5)], [_row(n, id=f"test{n}") for n in range(4, 8)]
    assert faults(page(train=train, test=test), other, only=["splits"]) == {"splits.shared"}
    seeded = [_row(n, question=f"Seed {n}?", seed=7, answer="x") for n in (1,)]
    worded = [_row(n, question=f"Again {n}?", seed=7, answer="x") for n in (1,)]
    assert faults(page(train=seeded, test=worded), other, only=["splits"]) == {"splits.seed"}
    assert faults(page(train=train[:4], test=test[1:]), other, only=["splits"]) == set()
    listed = [[_row(n, question=f"{words} {n}?", seed=[n, {"a": 1}]) for n in (1,)] for words in ("Seed", "Again")]
    assert faults(page(train=listed[0], test=listed[1]), other, only=["splits"]) == {"splits.seed"}


def test_the_same_question_with_two_golds_and_twice(page: Page, other: Other) -> None:
    rows = [_row(1), _row(1, id="again", answer="Bero"), _row(2), _row(2, id="twice")]
    report = audit(page(train=rows, test=[_row(9)]), other=other, only=["splits"])
    assert {(found.level, found.name) for found in report.findings} == {
        ("fault", "splits.contradiction"), ("note", "splits.duplicate"),
    }  # fmt: skip


def test_a_page_without_an_end(page: Page, other: Other) -> None:
    assert "budgets.endless" in faults(page(change=("max_turns = 4", "")), other, only=["budgets"])


def test_a_page_that_needs_its_tools(page: Page, other: Other) -> None:
    assert faults(page("\n[audit]\nneeds_tools = true\n"), other) == {"solving.untooled"}


@pytest.mark.parametrize(
    ("of", "method", "broken", "changed", "name"),
    [
        (Meter, "count_call", lambda self, tool: None, {}, "budgets.hidden"),
        (Meter, "calls_spent", lambda self, tool=None: False, {"budget.max_calls": 1}, "budgets.past"),
    ],
)
def test_a_turn_loop_that_does_not_count(
    page: Page,
    other: Other,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    method: str,
    broken: Any,
    changed: Any,
    name: str,
) -> None:
    monkeypatch.setattr(of, method, broken)
    assert name in faults(page(), other, only=["budgets"], **changed)


def test_a_turn_loop_that_blames_the_policy_for_an_outage(
    page: Page, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Episode._run

    async def swallow(self: Episode, call: Any) -> ToolResult:
        try:
            return await run(self, call)
        except Exception:
            return ToolResult(text="", status="error")

    monkeypatch.setattr(Episode, "_run", swallow)
    assert faults(page(), other, only=["accounts"]) == {"accounts.blamed"}


def test_a_question_that_is_rendered_as_it_is(page: Page, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.blueprint.neutralize", lambda text, markers: text)
    assert "markers.task" in faults(page(), other, only=["markers"])


def test_a_reminder_that_tells_the_answer(page: Page, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Episode, "_malformed_observation", lambda self, reason: f"It is {self.task.gold}, is it not?")
    assert faults(page(), other, only=["leaks"]) == {"leaks.reminder"}


def test_a_loop_that_does_not_cut(page: Page, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.episode.cut", lambda text, *more: text)
    assert "budgets.observation" in faults(page(), other, only=["budgets"], **{"budget.max_observation_chars": 100})


def test_every_fault_that_a_probe_names_is_planted_here() -> None:
    named = {name for probe in probes() for name in probe.faults}
    planted = Path(__file__).read_text("utf-8").partition("def test_every_fault")[0]
    not_planted = {name for name in named if f'"{name}"' not in planted}
    assert not_planted == {"answers.partial", "solving.untried"}  # notes, see test_run.py
