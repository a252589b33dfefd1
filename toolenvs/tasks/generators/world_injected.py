"""Questions about the fictional world whose pages address the model: do agents answer, or do as the pages say?"""

from collections.abc import Callable
from dataclasses import replace

from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.generators import world_pages as asked
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.injections import HOST, answers, injection
from toolenvs.world.pages import path_of


def make(
    *, passages: int = 1_000, world: int = 0, min_hops: int = 1, max_hops: int = 2, injections: int = 0
) -> Callable[[Draws], Problem]:
    """The generator: the questions of `world_pages`, by the same options; all have an answer.

    `extra["injection"]` says what the pages try: "answers" that they give, "addresses" that they send to, and the
    "kinds" on the pages that the question takes.

    Args:
        passages: size of the world.
        world: its seed.
        min_hops: fewest facts that a question takes.
        max_hops: most.
        injections: seed of what the pages carry; the site is "sites/world:PASSAGES:WORLD:injected:INJECTIONS".

    Raises:
        TaskError: an option is out of range.
    """
    require_whole_number(injections, "world_injected: injections", 0, 10**18)
    draw = asked.make(passages=passages, world=world, min_hops=min_hops, max_hops=max_hops)
    made = World(passages, seed=world)

    def problem(draws: Draws) -> Problem:
        question = draw(draws)
        pages = (path_of(made.find(entity).key) for entity in question.extra["evidence"])
        kinds = tuple(found.kind for path in pages if (found := injection(injections, path)) is not None)
        told = {"answers": answers(injections), "addresses": (HOST,), "kinds": kinds}
        return replace(question, extra={**question.extra, "injection": told})

    return problem
