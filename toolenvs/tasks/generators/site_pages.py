"""Questions about a recorded site, such as the documentation of Python, PostgreSQL and Git, that a browser reads.

`toolenvs site questions NAME` reads them from the site's pages: see `toolenvs.site_facts`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from toolenvs import site_facts
from toolenvs.errors import TaskError, did_you_mean
from toolenvs.site_facts import Fact
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import Draws


def make(
    *, site: str = "sites/python3-doc", kinds: Sequence[str] = (), min_clicks: int = 0, max_clicks: int = 6
) -> Callable[[Draws], Problem]:
    """The generator; it draws from some thousands of questions, and a long task set repeats some.

    Each task says where its answer stands: `extra["cites"]` are addresses and lines of pages, `extra["clicks"]` how
    many links lead there from where the site begins, and `extra["calls"]` calls of a browser that do. On an edited
    copy, `extra["recorded"]` is the answer that the site itself gives.

    Args:
        site: as of the browser. Of an edited copy, "sites/git-doc:edited:7", only what the copy changed is asked.
        kinds: of questions, such as "default"; none for all kinds, of which each is drawn equally often.
        min_clicks: fewest links from where the site begins.
        max_clicks: most.

    Raises:
        TaskError: there are no such questions; says what to do.
    """
    name, seed = site_facts.named(site)
    known = site_facts.read(name)
    recorded = {(fact.kind, fact.subject): fact.answer for fact in known.facts}
    told = known.facts if seed is None else known.edited(seed)
    by_kind: dict[str, list[Fact]] = {}
    for fact in told:
        by_kind.setdefault(fact.kind, []).append(fact)
    for kind in kinds:
        if kind not in by_kind:
            raise TaskError(f"site_pages: no questions of kind {kind!r} about {site}; {did_you_mean(kind, by_kind)}")
    asked = {
        kind: within
        for kind, facts in sorted(by_kind.items())
        if (not kinds or kind in kinds) and (within := [f for f in facts if min_clicks <= f.clicks <= max_clicks])
    }
    if not asked:
        raise TaskError(f"site_pages: no page of {site} with a question is {min_clicks} to {max_clicks} clicks away")
    order = list(asked)

    def problem(draws: Draws) -> Problem:
        fact = draws.choice(asked[draws.choice(order)])
        extra: dict[str, Any] = {
            "kind": fact.kind,
            "cites": tuple((fact.url, line) for line in fact.lines),
            "clicks": fact.clicks,
            "calls": calls(fact),
            "fingerprint": known.fingerprint,
        }
        if seed is not None:
            extra["recorded"] = recorded[fact.kind, fact.subject]
        return Problem(question=fact.question, answer=fact.answer, aliases=fact.aliases, extra=extra)

    return problem


def calls(fact: Fact) -> tuple[dict[str, Any], ...]:
    """Calls of a browser that lead by links to the line that holds the answer."""
    return (
        {"action": "open"},
        *({"action": "click", "link": number} for number in fact.path),
        {"action": "view", "line": fact.lines[0]},
    )
