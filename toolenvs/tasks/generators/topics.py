"""Topics of the fictional world: what to look for, and which passages are relevant, known by construction."""

from collections.abc import Callable

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.topics import Topics, check_syntax

MAX_PASSAGES = 100_000
_FORMS = ("question", "pico")
_LATER_YEARS = 40


def make(
    *, passages: int = 1_000, world: int = 0, form: str = "question", syntax: str = "words"
) -> Callable[[Draws], Problem]:
    """The generator. A task's gold is a query that finds all of `extra["relevant"]`, which maps ids to grades.

    `extra["pub_date"]` is a year that no relevant passage is later than; it is absent where they have no years.

    Args:
        passages: size of the world, at most 100,000: all of it is gone through; the retriever must serve the same one.
        world: its seed.
        form: "question", or "pico": the four fields of a review's outline.
        syntax: of the gold: "boolean" or "words"; see `toolenvs.world.topics`.

    Raises:
        TaskError: an option is out of range.
    """
    require_whole_number(passages, "topics: passages", 100, MAX_PASSAGES)
    if form not in _FORMS:
        raise TaskError(f"topics: form is {form!r}; give {' or '.join(map(repr, _FORMS))}")
    written = check_syntax(syntax)
    topics = Topics(World(passages, seed=world))

    def problem(draws: Draws) -> Problem:
        topic = topics.draw(draws)
        later = draws.between(0, _LATER_YEARS)
        query = topic.query(written)
        dated = {} if topic.year is None else {"pub_date": str(topic.year + later)}
        return Problem(
            question=topic.question if form == "question" else topic.pico,
            answer=query,
            extra={"relevant": dict.fromkeys(topic.relevant, 1), "queries": (query,), "fact": topic.fact, **dated},
        )

    return problem
