"""Evaluate an agent on one page or many, and go on where an evaluation stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import toolenvs
from toolenvs import blueprint as blueprints
from toolenvs import loop
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.evaluation import folder
from toolenvs.evaluation.measures import Measures, Prices, measure
from toolenvs.evaluation.opening import Opened, Running, Sampling, open_agent
from toolenvs.evaluation.overall import overall
from toolenvs.evaluation.pins import page_hash, tasks_hash
from toolenvs.evaluation.suites import PinnedPage, Suite, load_suite
from toolenvs.evaluation.table import markdown
from toolenvs.page import load
from toolenvs.rollout import Trajectory, TrajectoryWriter, Try, number_of, read_trajectories, run_tries
from toolenvs.tasks.seeding import stable_seed
from toolenvs.tasks.task import Task

_FREE = ("base_url", "toolenvs")
"""Of the settings, what may differ when an evaluation is gone on with."""
_SEEDS = 1 << 20


@dataclass(frozen=True, slots=True)
class Ready:
    """A page with the tasks that are tried."""

    name: str
    blueprint: Blueprint
    tasks: Sequence[Task]
    setting: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def close(self) -> None:
        """Free what the environment holds."""
        loop.run(self.blueprint.close())


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation measured."""

    setting: Mapping[str, Any]
    pages: Mapping[str, Measures]
    """By the page's name in the run."""
    measures: Mapping[str, Any]
    """Of all pages together, see `overall`; of the one page, where there is one."""
    trajectories: Sequence[Trajectory]
    """The last attempt at each try."""
    warnings: tuple[str, ...] = ()
    """What keeps the result from being compared with others of its suite."""

    def table(self) -> str:
        """A row a page, in Markdown."""
        return markdown(self.pages, self.measures)

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `summary.json` holds them."""
        pages = {name: asdict(measures) for name, measures in self.pages.items()}
        return {
            "setting": dict(self.setting),
            "measures": dict(self.measures),
            "pages": pages,
            "warnings": list(self.warnings),
        }


def evaluate(
    agent: Any,
    pages: Sequence[str] | str = (),
    *,
    suite: Suite | str | None = None,
    tasks: int = 100,
    n: int = 1,
    split: str = "",
    seed: int = 0,
    sampling: Sampling | None = None,
    running: Running | None = None,
    overrides: Mapping[str, Any] | None = None,
    concurrency: int = 64,
    retries: int = 2,
    prices: Prices | None = None,
    out: str | Path | None = None,
    on_start: Callable[[int, int], None] | None = None,
    on_episode: Callable[[Trajectory, bool], None] | None = None,
) -> Evaluation:
    """Run an agent over pages, or over a suite.

    Args:
        agent: a function, an agent, or a word that names one; see `toolenvs.evaluation.opening.KINDS` and
            `toolenvs.agents.callable`.
        pages: ids of bundled pages, or TOML files.
        suite: in their place: a suite, its name or its file. It says which tasks, `n`, the seed and the sampling.
        tasks: tasks of each page, the first ones of its set.
        n: tries of each task, for pass@1 to pass@n.
        split: of the task sets; "" for the pages' own, else "test".
        seed: each try's seed depends on it, the page's name, the task's id and the number of the try, and on nothing
            else: an evaluation that is gone on with makes the same tries.
        sampling: of models.
        running: deadlines and processes of agents.
        overrides: keys of every page.
        concurrency: episodes that run at once.
        retries: how often a try that infrastructure ended is made again.
        prices: of tokens.
        out: folder for `trajectories.jsonl`, `setting.json`, `summary.json` and `table.md`. One that holds the same
            evaluation is gone on with: what is there is not run again, but for what infrastructure ended.
        on_start: told how many tries there are, and how many of them are there already.
        on_episode: told of each episode as it ends, and whether it is the last attempt of its try.

    Raises:
        ConfigError: the folder holds another evaluation, there is no such agent or suite, or a number is too small.
        PageError: there is no such page, or a key is wrong.
        TaskError: a task cannot be found; or the oracle is to solve one that carries no solution.
        InfrastructureError: a tool does not work here at all.
    """
    if (suite is None) == (not pages):
        raise ConfigError("give pages or a suite, and not both")
    for name, value, least in (
        ("tasks", tasks, 1),
        ("n", n, 1),
        ("concurrency", concurrency, 1),
        ("retries", retries, 0),
    ):
        if value < least:
            raise ConfigError(f"{name} = {value}: give at least {least}")
    sampling = sampling or Sampling()
    if suite is not None:
        suite = load_suite(suite) if isinstance(suite, str) else suite
        n, seed, sampling = suite.n, suite.seed, suite.sampled(sampling.base_url)
        wanted: Sequence[PinnedPage] = suite.pages
    else:
        given = [pages] if isinstance(pages, str) else list(pages)
        wanted = [_wanted(page, tasks, split, overrides or {}) for page in given]
        names = [page.name for page in wanted]
        if len(set(names)) < len(names):
            raise ConfigError(
                f"a page is given twice among {', '.join(names)}; a suite may have it twice, by two names"
            )
    opened = open_agent(agent, sampling, running)
    with ExitStack() as stack:
        stack.callback(lambda: loop.run(opened.close()))
        ready = []
        for page in wanted:
            ready.append(prepare(page, opened.tokenizer))
            stack.callback(ready[-1].close)
        setting = {
            "agent": _named(agent),
            "env": ", ".join(each.name for each in ready),
            "suite": suite.id if suite is not None else None,
            "tasks": sum(len(each.tasks) for each in ready),
            "n": n,
            "seed": seed,
            "sampling": {"temperature": sampling.temperature, "max_turn_tokens": sampling.max_turn_tokens},
            "base_url": sampling.base_url,
            "pages": [dict(each.setting) for each in ready],
            "toolenvs": toolenvs.__version__,
        }
        run = _Run(opened, ready, n=n, seed=seed, concurrency=concurrency, retries=retries)
        if out is not None:
            path = folder.begin(Path(out), setting, _FREE)
            stack.enter_context(folder.Alone(path))
            run.made = list(read_trajectories(path))
            run.write = stack.enter_context(TrajectoryWriter(path)).write
        if on_start is not None:
            on_start(run.total, len(run.done))
        loop.run(run.all(on_episode))
        result = _result(setting, ready, run.made, n, prices)
    if out is not None:
        folder.write_json(Path(out) / folder.SUMMARY, result.to_json())
        folder.write_text(Path(out) / folder.TABLE, result.table() + "\n")
    return result


def _wanted(page: str, tasks: int, split: str, overrides: Mapping[str, Any]) -> PinnedPage:
    changed = dict(overrides)
    read = load(page, changed)
    changed.setdefault("tasks.split", split or read.tasks.get("split", "test"))
    return PinnedPage(name=read.id, page=page, tasks=tasks, overrides=changed)


def _named(agent: Any) -> str:
    if isinstance(agent, str):
        return agent
    return str(getattr(agent, "__name__", None) or type(agent).__name__)


def prepare(page: PinnedPage, tokenizer: Any = None) -> Ready:
    """A page made runnable, its tasks found and its hashes held against those that are pinned.

    Raises:
        PageError: as of `toolenvs.load`.
        TaskError: a pinned task is not there.
    """
    env = blueprints.load(page.page, tokenizer=tokenizer, **page.changed)
    chosen = [env.task(name) for name in page.ids] or [env.tasks[i] for i in range(min(page.tasks, len(env.tasks)))]
    ids = {task.id for task in chosen}
    if len(ids) < len(chosen):
        raise ConfigError(f"{page.name}: {len(chosen) - len(ids)} tasks have the id of another; make the ids unique")
    hashes = {"page_hash": page_hash(page.page, page.changed), "tasks_hash": tasks_hash(chosen)}
    warnings = [
        f"{page.name}: the {what} changed since the suite was pinned; earlier results do not compare"
        for what, pinned, now in (
            (f"page {page.page}", page.page_hash, hashes["page_hash"]),
            ("tasks", page.tasks_hash, hashes["tasks_hash"]),
        )
        if pinned and pinned != now
    ]
    setting = {"name": page.name, "env": env.page.id, "overrides": page.changed, "tasks": len(chosen), **hashes}
    return Ready(page.name, env, chosen, setting, tuple(warnings))


class _Run:
    """The tries of an evaluation, those that are there and those that are to be made."""

    def __init__(
        self, opened: Opened, ready: Sequence[Ready], *, n: int, seed: int, concurrency: int, retries: int
    ) -> None:
        self._opened, self._ready, self._n, self._seed = opened, ready, n, seed
        self._concurrency, self._retries = concurrency, retries
        self.total = n * sum(len(each.tasks) for each in ready)
        self.made: list[Trajectory] = []
        self.write: Callable[[Trajectory], None] = lambda trajectory: None

    @property
    def done(self) -> set[tuple[str, int]]:
        """Tries that are not made again."""
        return {(made.group, number_of(made)) for made in self.made if not made.failed}

    async def all(self, on_episode: Callable[[Trajectory, bool], None] | None) -> None:
        done = self.done

        def ended(made: Try, trajectory: Trajectory, last: bool) -> None:
            self.made.append(trajectory)
            self.write(trajectory)
            if on_episode is not None:
                on_episode(trajectory, last)

        for each in self._ready:
            left = [one for one in self._tries(each) if (one.group, one.number) not in done]
            if left:
                await run_tries(
                    each.blueprint,
                    self._opened.guarded(each.blueprint),
                    left,
                    concurrency=min(self._concurrency, len(left)),
                    retries=self._retries,
                    on_attempt=ended,
                )

    def _tries(self, ready: Ready) -> Iterator[Try]:
        width = len(str(len(ready.tasks)))
        for place, task in enumerate(ready.tasks):
            for number in range(self._n):
                yield Try(
                    task=task,
                    group=f"{ready.name}/{place}",
                    head=f"{ready.name}/{place:0{width}d}",
                    number=number,
                    seed=stable_seed("evaluation", self._seed, ready.name, task.id, number) % _SEEDS,
                )


def _result(
    setting: Mapping[str, Any], ready: Sequence[Ready], made: list[Trajectory], n: int, prices: Prices | None
) -> Evaluation:
    last, retried = folder.last_attempts(made)
    pages = {
        each.name: measure(
            [trajectory for trajectory in last if folder.page_of(trajectory) == each.name],
            n,
            retried=[trajectory for trajectory in retried if folder.page_of(trajectory) == each.name],
            limits=each.blueprint.page.budget,
            prices=prices,
        )
        for each in ready
    }
    warnings = tuple(warning for each in ready for warning in each.warnings)
    return Evaluation(setting, pages, overall(pages, last), last, warnings)
