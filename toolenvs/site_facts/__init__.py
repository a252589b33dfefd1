"""Facts of recorded sites: what can be asked about a site's pages, where it stands, and how an edited copy tells it.

A file of facts lies beside the recording that it was read from; `toolenvs.web.facts` writes it. What is here needs no
page: task sets and stores read the same file, and agree about what a fact is in the copy of a seed.
"""

import functools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.site_facts.changing import changed

__all__ = ["Fact", "Facts", "Slot", "changed", "facts_file", "named", "read", "write"]

FORMAT = 1
"""To be raised when files of before cannot be read."""
_EDITED = ":edited:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the page's source writes the answer."""

    start: int
    """Place in the body, in bytes."""
    end: int
    values: str
    """What a copy writes there: "version", "number", or the name of a pool of words of this site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One question about one page."""

    kind: str
    subject: str
    """What is asked about; no other fact of the kind has it."""
    question: str
    answer: str
    """As the page writes it."""
    aliases: tuple[str, ...] = ()
    url: str
    lines: tuple[int, ...]
    """Of the page, from 0: the first holds the answer, the others what it is the answer to."""
    path: tuple[int, ...]
    """Links to click, from the page where the site begins; as many as the page is away."""
    slot: Slot | None = None
    """None where copies leave the fact as it is."""

    @property
    def clicks(self) -> int:
        """How far the page is from the one where the site begins."""
        return len(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of a site, in a fixed order."""

    site: str
    fingerprint: str
    """Of the recording that they were read from."""
    facts: tuple[Fact, ...]
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words that may stand in each other's place in a copy, by the name of a pool."""
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many questions were not asked, by kind and reason."""

    def edited(self, seed: int) -> tuple[Fact, ...]:
        """Those that the copy of a seed tells otherwise, with the answers of that copy."""
        return tuple(
            replace(
                fact, answer=changed(fact.answer, fact.slot.values, self.pools, key=(seed, fact.kind, fact.subject))
            )
            for fact in self.facts
            if fact.slot is not None
        )


def named(site: str) -> tuple[str, int | None]:
    """The name of a recording and the seed of its edited copy: "git-doc:edited:7" is ("git-doc", 7).

    Raises:
        TaskError: the seed is no whole number.
    """
    name, colon, seed = site.removeprefix("sites/").partition(_EDITED)
    if not colon:
        return name, None
    if not (seed.isascii() and seed.isdigit() and len(seed) < 19):
        raise TaskError(f"site {site!r}: the seed of an edited copy is a whole number, as in {name + _EDITED + '7'!r}")
    return name, int(seed)


def facts_file(name: str) -> Path:
    """Where the facts of a site lie: beside its recording, under `$XDG_CACHE_HOME/toolenvs/sites`, else `~/.cache`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "toolenvs" / "sites" / f"{name}.facts.jsonl"


def write(facts: Facts, path: Path) -> None:
    """Write a file of facts, whole or not at all; the same facts give the same bytes."""
    head = {"format": FORMAT, "site": facts.site, "fingerprint": facts.fingerprint}
    head |= {"pools": facts.pools, "refused": facts.refused}
    rows = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in (head, *map(asdict, facts.facts)))
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        aside.write_text("\n".join(rows) + "\n", "utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def read(name: str) -> Facts:
    """The facts of a site, by its name; kept for the next who asks.

    Raises:
        TaskError: there are none, or the file is damaged; says what to do.
    """
    path = facts_file(name.removeprefix("sites/"))
    again = f"run `toolenvs site questions {name.removeprefix('sites/')}`"
    try:
        stamp = path.stat()
    except OSError:
        raise TaskError(f"there are no questions about the site {name!r} on this machine yet: {again} once") from None
    try:
        return _read(path, (stamp.st_mtime_ns, stamp.st_size))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"the questions in {path} cannot be read ({error!r:.100}): {again}") from error


@functools.lru_cache(maxsize=8)
def _read(path: Path, stamp: tuple[int, int]) -> Facts:
    head, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']!r}, not {FORMAT}")
    return Facts(
        site=head["site"],
        fingerprint=head["fingerprint"],
        facts=tuple(_facts(rows)),
        pools={name: tuple(words) for name, words in head["pools"].items()},
        refused=head["refused"],
    )


def _facts(rows: Iterable[dict[str, Any]]) -> Iterable[Fact]:
    for row in rows:
        slot = row.pop("slot")
        row |= {name: tuple(row[name]) for name in ("aliases", "lines", "path")}
        yield Fact(**row, slot=None if slot is None else Slot(**slot))
