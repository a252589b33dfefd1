"""Suites: files that pin which pages and tasks are evaluated, with which overrides, seeds and sampling.

    n = 1                            # tries of each task
    seed = 0
    [sampling]
    temperature = 0.0
    [[pages]]
    name = "search"                  # what the page is called in the results
    page = "Search-v0"
    tasks = 25                       # the first ones of the split; or ids = ["...", "..."]
    split = "test"
    overrides = { max_turns = 6 }    # keys of the page
    page_hash = "..."                # written by `toolenvs suite pin`: what the page said then,
    tasks_hash = "..."               # and which tasks these were

A page or its tasks may change after that; the suite then says so, and results from before and after are not compared.
"""

import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolenvs import assets, schema
from toolenvs.errors import ConfigError, PageError, did_you_mean
from toolenvs.evaluation.opening import Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedPage:
    """The keys of `[[pages]]`."""

    name: str
    """What the page is called in the results; unique."""
    page: str
    """A bundled page's id, or a TOML file."""
    tasks: int = 0
    """How many tasks, the first ones; 0 where `ids` say which."""
    ids: tuple[str, ...] = ()
    """Ids of the tasks."""
    split: str = ""
    """Of the task set; "" for the page's own."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the page."""
    page_hash: str = ""
    """Of the page as it was pinned; "" for not pinned yet."""
    tasks_hash: str = ""
    """Of its tasks."""

    def __post_init__(self) -> None:
        if not self.name or not (self.tasks > 0) != bool(self.ids):
            raise ValueError(f"name {self.name!r}: a name and either tasks (1 or more) or ids are needed")

    @property
    def changed(self) -> dict[str, Any]:
        """The overrides, the split among them."""
        return {**({"tasks.split": self.split} if self.split else {}), **self.overrides}


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedSampling:
    """The keys of `[sampling]`."""

    temperature: float = 1.0
    max_turn_tokens: int = 1024

    def __post_init__(self) -> None:
        schema.at_least(0, temperature=self.temperature)
        schema.at_least(1, max_turn_tokens=self.max_turn_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite file."""

    id: str
    """The file's name."""
    summary: str
    """One sentence for lists."""
    n: int = 1
    seed: int = 0
    sampling: PinnedSampling = field(default_factory=PinnedSampling)
    pages: tuple[PinnedPage, ...]

    def __post_init__(self) -> None:
        schema.at_least(1, n=self.n)
        names = [page.name for page in self.pages]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"pages: one or more are needed, each with a name of its own, not {names}")

    def sampled(self, base_url: str) -> Sampling:
        """The sampling of its models."""
        return Sampling(
            temperature=self.sampling.temperature,
            max_turn_tokens=self.sampling.max_turn_tokens,
            base_url=base_url,
        )


def suite_files() -> dict[str, Path]:
    """Every bundled suite by its name."""
    return {path.stem: path for path in sorted((assets.folder("envs") / "suites").glob("*.toml"))}


def suite_file(name: str) -> Path:
    """The file of a bundled suite, or a file of the caller's own.

    Raises:
        ConfigError: there is none.
    """
    file = suite_files().get(name, Path(name))
    if not file.is_file():
        raise ConfigError(f"there is no suite {name!r}; {did_you_mean(name, suite_files())}; or give a TOML file")
    return file


def load_suite(name: str) -> Suite:
    """A bundled suite, or one of the caller's own.

    Raises:
        ConfigError: there is none.
        PageError: a key of it is wrong.
    """
    file = suite_file(name)
    try:
        table = tomllib.loads(file.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PageError(f"{file.name}: not TOML: {error}") from None
    return schema.read(Suite, {"id": file.stem, **table}, file.name)


def pin(text: str, hashes: Mapping[str, tuple[str, str]]) -> str:
    """The text of a suite file with the hashes of its pages; all else stays, comments too.

    Args:
        text: of the file.
        hashes: of the page and of its tasks, by the page's name.
    """
    starts = [found.start() for found in re.finditer(r"(?m)^(?:#.*\n)*\[\[pages\]\]", text)]  # what is said above each
    head, *tables = (text[start:end] for start, end in itertools.pairwise([0, *starts, len(text)]))
    pinned = []
    for table in tables:
        body = re.sub(r"(?m)^(page|tasks)_hash *=.*\n?", "", table).rstrip("\n")
        above, opening, body = re.split(r"(?m)^(\[\[pages\]\])", body, maxsplit=1)
        body, gap, rest = body.partition("\n[")  # a table of its own, such as [pages.overrides]
        name = tomllib.loads(table)["pages"][0]["name"]
        of_page, of_tasks = hashes[name]
        body = f'{above}{opening}{body.rstrip()}\npage_hash = "{of_page}"\ntasks_hash = "{of_tasks}"\n'
        pinned.append(body + (f"{gap}{rest}\n" if gap else "") + "\n")
    return (head + "".join(pinned)).rstrip("\n") + "\n"
