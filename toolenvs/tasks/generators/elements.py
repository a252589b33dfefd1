"""Questions that begin at a chemical element, whose passages a retriever serves as `index = "elements"`."""

from collections.abc import Callable

from toolenvs.factbook import elements
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.generators.factbook import drawn
from toolenvs.tasks.seeding import Draws


def make(*, min_hops: int = 1, max_hops: int = 2) -> Callable[[Draws], Problem]:
    """The generator; a long task set repeats questions, of which there are some hundreds.

    Args:
        min_hops: fewest facts that a question takes.
        max_hops: most facts, at most 2: of the element, and of the country that it was discovered in.

    Raises:
        TaskError: an option is out of range.
        MissingExtraError: a package that holds the texts is not installed.
    """
    require_whole_number(min_hops, "elements: min_hops", 1, elements.MAX_HOPS)
    require_whole_number(max_hops, "elements: max_hops", min_hops, elements.MAX_HOPS)
    return lambda draws: drawn(draws, elements.questions(draws.between(min_hops, max_hops)))
