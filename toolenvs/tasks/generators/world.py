"""Questions about the fictional world, whose passages a retriever serves: see `toolenvs.world`."""

from collections.abc import Callable

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.questions import MAX_HOPS


def make(
    *, passages: int = 1_000, world: int = 0, min_hops: int = 1, max_hops: int = 2, unanswerable: float = 0.0
) -> Callable[[Draws], Problem]:
    """The generator.

    Args:
        passages: size of the world; the retriever must serve the same one.
        world: its seed.
        min_hops: fewest facts that a question takes.
        max_hops: most facts, at most 4.
        unanswerable: share of questions about what the world does not have; their answer is "unknown".

    Raises:
        TaskError: an option is out of range.
    """
    require_whole_number(min_hops, "world: min_hops", 1, MAX_HOPS)
    require_whole_number(max_hops, "world: max_hops", min_hops, MAX_HOPS)
    if not 0 <= unanswerable <= 1:
        raise TaskError(f"world: unanswerable is {unanswerable!r}; give a share from 0 to 1")
    made = World(passages, seed=world)

    def problem(draws: Draws) -> Problem:
        hops = draws.between(min_hops, max_hops)
        beyond = draws.below(1_000_000) < unanswerable * 1_000_000
        question = (made.unanswerable if beyond else made.question)(draws, hops=hops)
        return Problem(
            question=question.text,
            answer=question.answer,
            extra={
                "hops": hops,
                "answerable": not beyond,
                "evidence": question.evidence,
                "facts": question.facts,
                "queries": question.names,
            },
        )

    return problem
