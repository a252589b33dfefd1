"""Two agents on the same tasks, task by task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.evaluation import folder
from toolenvs.evaluation.statistics import bootstrap, holm, mcnemar, sign_flips
from toolenvs.rollout import Trajectory

ALL = "all"
_SAME = ("env", "page_hash", "tasks_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The comparison on one page, or on all of them together."""

    page: str
    """Its name; "all" for the mean over pages, each counting the same."""
    tasks: int
    """Tasks that both have an episode of."""
    left_out: int
    """Tasks that infrastructure kept one of them from."""
    a: float
    """Mean success of the first agent over these tasks."""
    b: float
    """Of the second one."""
    difference: float
    """b - a."""
    difference_95: tuple[float, float]
    """Paired bootstrap over tasks."""
    better: int
    """Tasks on which the second agent is better."""
    worse: int
    p: float
    """Two-sided: that agents alike would differ as much."""
    p_holm: float
    """The same, held against all pages at once; of "all", p itself, which is one test."""
    test: str
    """"mcnemar" where each task was tried once and is solved or not; else "sign flips"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two evaluations."""

    a: str
    """The first agent, as its evaluation names it."""
    b: str
    rows: tuple[Row, ...]
    """One a page; then, where there are several, one of all together."""


def compare(a: str | Path, b: str | Path) -> Comparison:
    """Compare two evaluations of the same tasks.

    Args:
        a: folder of the first one, `--out` of `toolenvs eval`.
        b: of the second one.

    Raises:
        ConfigError: a folder holds none; their pages, overrides or tasks differ; or they have no task in common that
            infrastructure left both of them.
    """
    folders = Path(a), Path(b)
    (setting_a, pages_a), (setting_b, pages_b) = (folder.read(each) for each in folders)
    _check_same(folders, setting_a, setting_b)
    names = [str(page["name"]) for page in setting_a["pages"]]
    pairs = {name: _paired(name, pages_a[name], pages_b[name]) for name in names}
    rows = [_row(name, [pairs[name]]) for name in names]
    adjusted = holm([row["p"] for row in rows])
    told = [Row(**row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]
    if len(names) > 1:
        whole = _row(ALL, list(pairs.values()))
        told.append(Row(**whole, p_holm=whole["p"]))
    return Comparison(a=str(setting_a.get("agent")), b=str(setting_b.get("agent")), rows=tuple(told))


def _check_same(folders: tuple[Path, Path], a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    of_a, of_b = ({str(page["name"]): page for page in setting["pages"]} for setting in (a, b))
    for name in [*of_a, *of_b]:
        for here, pages in zip(folders, (of_a, of_b), strict=True):
            if name not in pages:
                raise ConfigError(f"{here} did not evaluate {name!r}, and the other one did: compare the same pages")
    for name, page in of_a.items():
        for key in _SAME:
            if page.get(key) != of_b[name].get(key):
                raise ConfigError(f"{name}: {_why(key, page, of_b[name])}; only the same tasks are compared")


def _why(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    if key == "tasks_hash":
        counts = a.get("tasks"), b.get("tasks")
        return (
            f"the tasks differ ({counts[0]} and {counts[1]} of them)" if counts[0] != counts[1] else "the tasks differ"
        )
    if key == "page_hash" and a.get("overrides") != b.get("overrides"):
        return f"the page was overridden differently ({a.get('overrides')} and {b.get('overrides')})"
    return "the page itself changed between the two" if key == "page_hash" else f"{a.get(key)} and {b.get(key)} differ"


@dataclass(frozen=True, slots=True)
class _Paired:
    """Success of both agents on each task that both were left."""

    a: list[float]
    b: list[float]
    left_out: int
    once: bool
    """Whether each task was tried once by both."""


def _paired(name: str, a: Sequence[Trajectory], b: Sequence[Trajectory]) -> _Paired:
    of_a, of_b = _by_task(a), _by_task(b)
    both = [task for task in of_a if task in of_b]
    every = {trajectory.task for trajectory in (*a, *b)}
    if not both:
        raise ConfigError(f"{name}: infrastructure left the two no task in common: run the evaluations again")
    once = all(len(tries) == 1 for found in (of_a, of_b) for tries in found.values())
    means_a, means_b = ([sum(found[task]) / len(found[task]) for task in both] for found in (of_a, of_b))
    return _Paired(means_a, means_b, len(every) - len(both), once)


def _by_task(trajectories: Sequence[Trajectory]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for trajectory in trajectories:
        if not trajectory.failed:
            found.setdefault(trajectory.task, []).append(trajectory.success or 0.0)
    return found


def _row(name: str, pairs: Sequence[_Paired]) -> dict[str, Any]:
    """The row of one page; of several, each page counting the same."""
    differences = [[b - a for a, b in zip(pair.a, pair.b, strict=True)] for pair in pairs]
    flat = [value for page in differences for value in page]
    better, worse = sum(value > 0 for value in flat), sum(value < 0 for value in flat)
    binary = all(value in (0.0, 1.0) for pair in pairs for value in (*pair.a, *pair.b))
    is_mcnemar = len(pairs) == 1 and binary and pairs[0].once
    weighted = [value / len(page) / len(pairs) for page in differences for value in page]
    a, b = (sum(sum(each) / len(each) for each in side) / len(pairs) for side in _sides(pairs))
    return {
        "page": name,
        "tasks": len(flat),
        "left_out": sum(pair.left_out for pair in pairs),
        "a": a,
        "b": b,
        "difference": b - a,
        "difference_95": bootstrap(differences),
        "better": better,
        "worse": worse,
        "p": mcnemar(worse, better) if is_mcnemar else sign_flips(weighted),
        "test": "mcnemar" if is_mcnemar else "sign flips",
    }


def _sides(pairs: Sequence[_Paired]) -> tuple[list[list[float]], list[list[float]]]:
    return [pair.a for pair in pairs], [pair.b for pair in pairs]
