"""`build`: all stages over many sources, so many at once."""

import asyncio
import time
from collections.abc import Callable, Iterable

from toolenvs import loop
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart.format import check_form
from toolenvs.coldstart.rejection import Rejection
from toolenvs.coldstart.replay import replay
from toolenvs.coldstart.report import Failure, Report, summarize
from toolenvs.coldstart.rewrite.base import Rewriter
from toolenvs.coldstart.row import ColdStartRow, Outputs
from toolenvs.coldstart.source import Source
from toolenvs.errors import ConfigError, InfrastructureError

Outcome = ColdStartRow | Rejection | Failure
_ATTEMPTS = 2


async def abuild(
    blueprint: Blueprint,
    sources: Iterable[Source],
    rewriter: Rewriter,
    *,
    outputs: Outputs = "require",
    seed: int = 0,
    concurrency: int = 16,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> Report:
    """Rewrite, check and replay every source.

    Args:
        blueprint: the environment that the rows are for.
        sources: taken one by one as workers become free.
        rewriter: makes a recording of a source.
        outputs: what is done with recorded outputs, see `replay`. With a model as the rewriter, "replace": it invents
            them.
        seed: of the tools; with a deterministic rewriter and deterministic programs, equal seeds give equal reports.
        concurrency: sources that are worked on at once.
        on_outcome: told of each outcome as it comes, for a progress bar.

    Returns:
        The report. A source on which infrastructure failed was tried twice, and is neither kept nor rejected.

    Raises:
        ConfigError: `concurrency` is less than 1.
        InfrastructureError: a tool does not work here at all.
    """
    if concurrency < 1:
        raise ConfigError(f"concurrency is {concurrency}; give at least 1")
    await blueprint.check()
    started_s = time.perf_counter()
    waiting = enumerate(sources)
    outcomes: dict[int, tuple[str, Outcome]] = {}

    async def work() -> None:
        for index, source in waiting:
            outcome = await _outcome(blueprint, source, rewriter, outputs, seed)
            outcomes[index] = (source.task.id, outcome)
            if on_outcome is not None:
                on_outcome(outcome)

    async with asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(work())
    return summarize((outcomes[index] for index in sorted(outcomes)), time.perf_counter() - started_s)


def build(
    blueprint: Blueprint,
    sources: Iterable[Source],
    rewriter: Rewriter,
    *,
    outputs: Outputs = "require",
    seed: int = 0,
    concurrency: int = 16,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> Report:
    """The blocking face of `abuild`."""
    return loop.run(
        abuild(
            blueprint,
            sources,
            rewriter,
            outputs=outputs,
            seed=seed,
            concurrency=concurrency,
            on_outcome=on_outcome,
        )
    )


async def _outcome(blueprint: Blueprint, source: Source, rewriter: Rewriter, outputs: Outputs, seed: int) -> Outcome:
    """The outcome of one source, tried again where infrastructure failed."""
    fault = ""
    for _ in range(_ATTEMPTS):
        try:
            recording = await rewriter.rewrite(source, blueprint.protocol)
            if isinstance(recording, Rejection):
                return recording
            rejection = check_form(recording, blueprint)
            if rejection is not None:
                return rejection
            return await replay(blueprint, source, recording, rewriter=rewriter.name, outputs=outputs, seed=seed)
        except InfrastructureError as error:
            fault = str(error)
    return Failure(source.task.id, fault)
