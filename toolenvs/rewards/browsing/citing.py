"""Whether an episode opened what its answer stands on.

A task says so in `extra["cites"]`: addresses and lines of pages, the first of which holds the answer; a line of None is
the whole page.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from toolenvs.errors import TaskError
from toolenvs.rewards.moment import Moment

Cited = Literal["page", "line"]
CITED: tuple[Cited, ...] = get_args(Cited)
_LOOKS = ("find", "view")


def cited(moment: Moment, by: Cited) -> bool:
    """Whether the page that holds the answer was opened; by "line", whether the line was shown, or found by its words.

    A list of search results that quotes the line is not the page.

    Raises:
        TaskError: the task does not say where its answer stands.
    """
    cites = moment.task.extra.get("cites")
    if not cites:
        raise TaskError(
            f"task {moment.task.id!r} has no extra['cites']: give it addresses and lines, or judge without citations"
        )
    url, line = cites[0]
    return any(
        page == url and (by == "page" or line is None or first <= line <= last or line in hits)
        for page, first, last, hits in _opened(moment)
    )


def _opened(moment: Moment) -> Iterator[tuple[str, int, int, list[int]]]:
    """Each page that was shown: its address, the lines of it, and those that a search in it found."""
    for result in moment.results:
        data: Mapping[str, Any] = result.data
        if result.status == "ok" and data.get("url") and data.get("cursor") is not None:
            first, last = data.get("lines", (0, -1))
            yield data["url"], first, last, data.get("hits", []) if data.get("action") in _LOOKS else []
