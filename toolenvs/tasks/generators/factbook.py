"""Questions about the CIA World Factbook, whose passages a retriever serves as `index = "factbook"`."""

from collections.abc import Callable, Sequence

from toolenvs import factbook
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws


def make(*, min_hops: int = 1, max_hops: int = 2) -> Callable[[Draws], Problem]:
    """The generator. It draws from some thousands of questions, and a long task set therefore repeats some.

    Args:
        min_hops: fewest facts that a question takes.
        max_hops: most facts, at most 3.

    Raises:
        TaskError: an option is out of range.
        MissingExtraError: the package that holds the Factbook is not installed.
    """
    require_whole_number(min_hops, "factbook: min_hops", 1, factbook.MAX_HOPS)
    require_whole_number(max_hops, "factbook: max_hops", min_hops, factbook.MAX_HOPS)

    return lambda draws: drawn(draws, factbook.questions(draws.between(min_hops, max_hops)))


def drawn(draws: Draws, questions: Sequence[factbook.Question]) -> Problem:
    """One of `questions`, with what it takes."""
    question = draws.choice(questions)
    return Problem(
        question=question.text,
        answer=question.golds[0],
        aliases=question.golds[1:],
        extra={
            "hops": question.hops,
            "evidence": question.evidence,
            "facts": question.facts,
            "queries": question.queries,
        },
    )
