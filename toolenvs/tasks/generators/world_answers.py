"""Answers of the fictional world to write questions for: what a proposer of search questions is given."""

from collections.abc import Callable

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.questions import MAX_HOPS

_MIN_WORDS = 10
"""Of the example question: shorter ones are not valid under SSP's rules."""


def make(*, passages: int = 1_000, world: int = 0, min_hops: int = 2, max_hops: int = 3) -> Callable[[Draws], Problem]:
    """The generator. Each answer is the name of an entity, and `extra["proposal"]` one question that leads to it, as a
    script may propose it.

    Args:
        passages: size of the world; the retriever must serve the same one.
        world: its seed.
        min_hops: fewest searches that the question shall take.
        max_hops: most, at most 4.

    Raises:
        TaskError: an option is out of range.
    """
    require_whole_number(min_hops, "world_answers: min_hops", 1, MAX_HOPS)
    require_whole_number(max_hops, "world_answers: max_hops", min_hops, MAX_HOPS)
    try:
        made = World(passages, seed=world)
    except TaskError as error:
        raise TaskError(f"world_answers: {error}") from None

    def problem(draws: Draws) -> Problem:
        hops = draws.between(min_hops, max_hops)
        question = made.question(draws, hops=hops)
        while question.answer.isdigit() or len(question.text.split()) < _MIN_WORDS:
            question = made.question(draws, hops=hops)
        return Problem(
            question=f"Answer: {question.answer}\nSearches needed: {hops}",
            answer=question.answer,
            extra={
                "hops": hops,
                "proposal": question.text,
                "evidence": question.evidence,
                "facts": question.facts,
                "queries": question.names,
            },
        )

    return problem
