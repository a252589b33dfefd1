"""Questions about the fictional world, whose linked pages a browser reads: see `toolenvs.world.pages`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from toolenvs.tasks.generated import Problem
from toolenvs.tasks.generators import world as asked
from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.pages import URL, path_of


def make(
    *, passages: int = 1_000, world: int = 0, min_hops: int = 1, max_hops: int = 2, unanswerable: float = 0.0
) -> Callable[[Draws], Problem]:
    """The generator: the questions of `world`, by the same options.

    `extra["calls"]` are calls of a browser that lead to the answer: a search for the name in the question, its page,
    and the page of each further entity on the way. `extra["cites"]` names the page that holds the answer.

    Raises:
        TaskError: an option is out of range.
    """
    draw = asked.make(passages=passages, world=world, min_hops=min_hops, max_hops=max_hops, unanswerable=unanswerable)
    made = World(passages, seed=world)

    def problem(draws: Draws) -> Problem:
        question = draw(draws)
        pages = [URL + path_of(made.find(entity).key) for entity in question.extra["evidence"]]
        calls: list[dict[str, Any]] = []
        if pages:
            calls = [{"action": "search", "query": question.extra["queries"][0]}, {"action": "click", "link": 0}]
            calls += [{"action": "open", "url": url} for url in pages[1:]]
        cites = tuple((url, None) for url in pages[-1:])
        return replace(question, extra={**question.extra, "calls": tuple(calls), "cites": cites})

    return problem
