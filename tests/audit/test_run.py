"""What a page says is known, what an audit is asked for, and processes that end."""

from collections.abc import Callable

import pytest

from toolenvs.assets import page_files
from toolenvs.audit import Other, audit
from toolenvs.errors import ConfigError, InfrastructureError, PageError

Page = Callable[..., str]


@pytest.mark.parametrize("name", sorted(page_files()))
def test_every_bundled_page_passes(name: str, other: Other) -> None:
    slow = name in ("MiniWoB-v0", "SSPProposer-v0")
    assert audit(name, tasks=1 if slow else 3, other=other).faults == ()


def test_what_is_known_is_a_note_with_its_reason(page: Page, other: Other) -> None:
    known = {"answers.empty": "the paper pays silence", "answers.calls": "so it does when calls used up the turns"}
    file = page("\n[audit.known]\n" + "".join(f'"{name}" = "{why}"\n' for name, why in known.items()))
    report = audit(file, other=other, only=["answers"], **{"judge.fault": "pays silence"})
    assert report.faults == ()
    (found,) = [finding for finding in report.findings if finding.name == "answers.empty"]
    assert found.level == "note"
    assert found.what.endswith("Known: the paper pays silence")
    assert found.times > 1


def test_what_is_known_must_be_a_finding(page: Page, other: Other) -> None:
    with pytest.raises(PageError, match=r"audit.known: no finding is called 'answers.emty'; did you mean 'answers.emp"):
        audit(page('\n[audit.known]\n"answers.emty" = "hm"\n'), other=other)


def test_an_unknown_probe_is_named(page: Page, other: Other) -> None:
    with pytest.raises(PageError, match="no probe is called 'leak'; did you mean 'leaks'"):
        audit(page(), other=other, only=["leak"])


def test_an_audit_of_no_task_is_refused(page: Page, other: Other) -> None:
    with pytest.raises(ConfigError, match="tasks = 0: give at least 1"):
        audit(page(), other=other, tasks=0)


def test_an_audit_without_a_shared_process_ends_its_own(page: Page) -> None:
    assert audit(page(), tasks=1, only=["determinism"]).faults == ()


def test_a_process_that_ended_is_told(page: Page) -> None:
    file = page()
    with Other() as other:
        other.record(file, {}, 0, ["hm"])
        assert other._process is not None
        other._process.kill()
        other._process.wait()
        with pytest.raises(InfrastructureError, match="has ended"):
            other.record(file, {}, 0, ["hm"])
        assert other.record(file, {}, 0, ["hm"])  # another one is started


def test_a_part_of_a_graded_score_is_a_note(other: Other) -> None:
    (found,) = audit("ZeroSearch-v0", tasks=3, other=other, only=["answers"]).findings
    assert (found.level, found.name) == ("note", "answers.partial")


def test_a_task_without_gold_and_solution_is_said_to_be_untried(page: Page, other: Other) -> None:
    rows = [{"id": "a", "question": "Who?", "answer": "Pavo"}]
    changed = {"tasks.set": "miniwob"}
    report = audit(page(train=rows), tasks=2, other=other, only=["solving"], **changed)
    (found,) = report.findings
    assert (found.level, found.name, found.times) == ("note", "solving.untried", 2)


def test_pages_without_golds_and_without_tools_are_tried_as_far_as_they_go(other: Other) -> None:
    for name in ("Shop-v0", "BirdSQL-v0", "SSRL-v0"):
        report = audit(name, tasks=1, other=other)
        assert report.tasks == 1
        assert report.faults == ()
