"""Two agents on the same tasks: what is compared, what is refused, and the figures by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolenvs.errors import ConfigError, EngineError
from toolenvs.evaluation import compare, evaluate


def _solves(*numbers: int) -> Callable[[Any], str]:
    def act(request: Any) -> str:
        right = int(request.task.id.rpartition("/")[2]) in numbers
        text = request.task.gold if right else "none"
        return f"\\boxed{{{text}}}" if "number_theory" in request.task.id else f"<answer>{text}</answer>"

    return act


def _run(out: Path, agent: Any, *pages: str, **given: Any) -> Path:
    evaluate(agent, list(pages) or ["ReTool-v0"], out=out, **{"tasks": 8, **given})
    return out


def test_one_page_by_mcnemar(tmp_path: Path) -> None:
    a = _run(tmp_path / "a", _solves(0, 1))
    b = _run(tmp_path / "b", _solves(1, 2, 3, 4, 5, 6))
    (row,) = compare(a, b).rows
    assert (row.page, row.tasks, row.a, row.b, row.difference) == ("ReTool-v0", 8, 0.25, 0.75, 0.5)
    assert (row.better, row.worse, row.test) == (5, 1, "mcnemar")
    assert row.p == row.p_holm == pytest.approx(2 * (1 + 6) / 2**6)
    low, high = row.difference_95
    assert -0.2 < low < 0.5 < high <= 1
    (back,) = compare(b, a).rows
    assert (back.difference, back.p) == (-0.5, row.p)
    (same,) = compare(a, a).rows
    assert (same.difference, same.difference_95, same.p) == (0, (0, 0), 1)


def test_several_pages_are_held_against_each_other(tmp_path: Path) -> None:
    a = _run(tmp_path / "a", _solves(), "ReTool-v0", "SearchR1-v0")
    b = _run(tmp_path / "b", _solves(*range(8)), "ReTool-v0", "SearchR1-v0")
    one, two, whole = compare(a, b).rows
    assert (one.p, one.p_holm, two.p_holm) == (2 / 2**8, 4 / 2**8, 4 / 2**8)
    assert (whole.page, whole.tasks, whole.difference) == ("all", 16, 1)
    assert whole.p < one.p
    assert whole.test == "sign flips"


def test_several_tries_are_compared_by_their_means(tmp_path: Path) -> None:
    def half(request: Any) -> str:
        return _solves(*range(8))(request) if request.key.endswith(".0") else "\\boxed{none}"

    a, b = _run(tmp_path / "a", _solves(), n=2), _run(tmp_path / "b", half, n=2)
    (row,) = compare(a, b).rows
    assert (row.difference, row.better, row.test, row.p) == (0.5, 8, "sign flips", 2 / 2**8)


def test_tasks_that_infrastructure_took_from_one_are_left_out(tmp_path: Path) -> None:
    def flaky(request: Any) -> str:
        if request.task.id.endswith("/0"):
            raise EngineError("silent")
        return _solves(1, 2)(request)

    a, b = _run(tmp_path / "a", _solves(0, 1)), _run(tmp_path / "b", flaky, retries=0)
    (row,) = compare(a, b).rows
    assert (row.tasks, row.left_out, row.better, row.worse) == (7, 1, 1, 0)

    def silent(request: Any) -> str:
        raise EngineError("silent")

    with pytest.raises(ConfigError, match="no task in common"):
        compare(a, _run(tmp_path / "c", silent, retries=0))


@pytest.mark.parametrize(
    ("pages", "change", "told"),
    [
        (["ToRL-v0"], {}, "did not evaluate 'ReTool-v0'"),
        (["ReTool-v0", "ToRL-v0"], {}, "did not evaluate 'ToRL-v0'"),
        (["ReTool-v0"], {"tasks": 7}, r"ReTool-v0: the tasks differ \(8 and 7 of them\)"),
        (["ReTool-v0"], {"split": "train"}, "ReTool-v0: the page was overridden differently"),
        (["ReTool-v0"], {"overrides": {"max_calls": 1}}, "ReTool-v0: the page was overridden differently"),
    ],
)
def test_other_tasks_are_refused(tmp_path: Path, pages: list[str], change: dict[str, Any], told: str) -> None:
    a, b = _run(tmp_path / "a", _solves()), _run(tmp_path / "b", _solves(), *pages, **change)
    with pytest.raises(ConfigError, match=told):
        compare(a, b)


def test_tasks_of_the_same_ids_with_other_words_are_refused(tmp_path: Path) -> None:
    rows = '{"id": "x/%d", "question": "%s", "answer": "1"}\n'
    for name, words in (("a", "What is it?"), ("b", "What is that?")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.jsonl").write_text("".join(rows % (number, words) for number in range(3)))

    def run(name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path / name)
        return _run(tmp_path / name / "out", "no-tool", overrides={"tasks.set": "rows.jsonl"})

    with pytest.MonkeyPatch.context() as patch:
        a, b = run("a", patch), run("b", patch)
    with pytest.raises(ConfigError, match="ReTool-v0: the tasks differ; only the same tasks"):
        compare(a, b)


def test_what_is_no_evaluation(tmp_path: Path) -> None:
    a = _run(tmp_path / "a", _solves())
    with pytest.raises(ConfigError, match="holds no evaluation"):
        compare(a, tmp_path)
    (tmp_path / "setting.json").write_text('{"env": "ReTool-v0"}')
    with pytest.raises(ConfigError, match="holds no evaluation"):
        compare(tmp_path, a)
