"""Pages: an environment as one TOML file, and the same file with some of its keys overridden."""

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from toolenvs import assets, plugins, schema
from toolenvs.budget import Limits
from toolenvs.errors import PageError, did_you_mean

Table = Mapping[str, Any]
Malformed = Literal["empty", "ignore", "remind", "end", "penalize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Where the environment comes from."""

    title: str
    url: str
    note: str = ""
    """What differs from the paper, or from its released code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the policy reads first."""

    user: str
    """The user message; `{question}` is the task's question. What else the judge, a reward term or a tool has to say of
    a task stands at a name of its own: `{schema}` and `{evidence}` with those of SQL, `{state}` and `{actions}` with
    the tool `gym`, whose first state may stand in place of the question."""
    system: str = ""
    """The system message; "" for none."""
    template: str = "chatml"
    """Chat template: "chatml" or "plain"; a tokenizer given to the environment replaces "chatml" by its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolTable:
    """How calls and answers are written. Further keys of `[protocol]` are the options of its kind."""

    kind: str
    """A module of `toolenvs.protocols`: "tags", "chat_tags", "fences", "tool_calls", "rewrites", "brackets"."""
    malformed: Malformed = "empty"
    """What a malformed call leads to:
    `empty` (ReTool): an observation that holds `malformed_text`; `ignore` (ToRL): nothing runs, a newline is added and
    the policy goes on (an empty observation where each turn is a message of its own); `remind` (Search-R1): feedback
    that says what was wrong; `end`: the episode ends; `penalize` (RAGEN): as `remind`, and the reward term `malformed`
    is paid."""
    malformed_text: str = "None"
    """The observation of `empty`."""
    no_call: Literal["answer", "malformed"] = "answer"
    """What a turn without call and without answer is: the policy's final reply, or a malformed call."""
    reading_stop: str = ""
    """What ends the turn behind a tool's result, in which the policy only reads and nothing is called: "</think>"
    (ASearcher). A long result comes in pieces then, each read by itself. "" where any turn may call."""
    options: Table = field(default_factory=dict)
    """Filled from the further keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    """Lengths of the Gymnasium spaces, in code points."""

    action_length: int = 65_536
    """A longer action is cut, and ends the episode as `length`."""
    observation_length: int = 65_536
    """What a tool returns is cut so that its observation fits."""

    def __post_init__(self) -> None:
        schema.at_least(1, action_length=self.action_length, observation_length=self.observation_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What `toolenvs audit` is to know of the page."""

    needs_tools: bool = False
    """Whether a right answer without any call is to earn nothing; where False, that it earns is only noted."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Findings that belong to what the page re-creates, by name, and why: `"answers.several" = "..."`. They are noted,
    and are no faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One environment. `tools`, `judge`, `reward` and `tasks` hold the options of what they name."""

    id: str
    """Name and version, such as "ReTool-v0"; the file's name."""
    summary: str
    """One sentence for lists."""
    paper: Paper
    prompt: Prompt
    protocol: ProtocolTable
    tools: Mapping[str, Table]
    """Options of each tool, by its name, a module of `toolenvs.tools`."""
    budget: Limits = field(default_factory=Limits)
    judge: Table
    """`name`, a module of `toolenvs.rewards.judges`, and its options."""
    reward: tuple[Table, ...]
    """Terms that are summed: `term`, a module of `toolenvs.rewards.terms`, its options, and its `weight` (1)."""
    tasks: Table
    """`set`, a generator or a file, and the options of its loader. Golds of files are held against the judge when they
    are loaded; `bad_golds` says what to do with those that fail: "error" (the default), "drop" or "keep"."""
    spaces: Spaces = field(default_factory=Spaces)
    audit: Audit = field(default_factory=Audit)


def load(path: str | Path, overrides: Table | None = None) -> Page:
    """Read a page and override some of its keys.

    Args:
        path: a bundled page's id (with or without "toolenvs/"), or a TOML file.
        overrides: by key: a section (`budget={"max_calls": 2}`, merged into the page's), a dotted name
            (`{"budget.max_calls": 2}`, `{"reward.outcome.wrong": -1}`), or a key that only one section has
            (`max_calls=2`), or none but one term of the reward (`wrong=-1`).

    Raises:
        PageError: no such page, or a key or value of it is wrong; the message names file and key.
    """
    name = str(path).removeprefix("toolenvs/")
    files = assets.page_files()
    file = files.get(name, Path(path))
    if not file.is_file():
        raise PageError(f"there is no page {name!r}; {did_you_mean(name, files)}")
    try:
        table = tomllib.loads(file.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PageError(f"{file.name}: not TOML: {error}") from None
    return parse({"id": file.stem, **table}, file.name, overrides)


def parse(table: Table, where: str, overrides: Table | None = None) -> Page:
    """A page from its table; see `load`."""
    merged = copy.deepcopy(dict(table))
    if _other_tasks(merged, overrides or {}):
        merged["tasks"] = {}  # the options of the page's own set are not another's
    for key, value in (overrides or {}).items():
        _override(merged, key, value, where)
    protocol = merged.get("protocol")
    if isinstance(protocol, Mapping):  # what is not a common key is an option of the kind
        common = set(schema.fields(ProtocolTable)) - {"options"}
        options = {key: value for key, value in protocol.items() if key not in common}
        merged["protocol"] = {key: value for key, value in protocol.items() if key in common} | {"options": options}
    return schema.read(Page, merged, where)


def _other_tasks(table: Table, overrides: Table) -> bool:
    """Whether the overrides name another task set than the page."""
    given = overrides.get("tasks")
    named = [given.get("set")] if isinstance(given, Mapping) else []
    named += [overrides.get("tasks.set"), overrides.get("set")]
    own = _section(table, "tasks").get("set")
    return any(name not in (None, own) for name in named)


def _override(table: dict[str, Any], key: str, value: Any, where: str) -> None:
    sections = schema.fields(Page)
    if key in sections:
        path = [key]
    elif "." in key:
        path = _path(table, key)
    else:
        homes = [home for home, keys in _leaves(table).items() if key in keys] or _terms_with(table, key)
        if not homes:
            known = sections.keys() | {leaf for keys in _leaves(table).values() for leaf in keys}
            raise PageError(f"{where}: unknown key {key!r}; {did_you_mean(key, known)}")
        if len(homes) > 1:
            choices = " or ".join(repr(".".join([*home, key])) for home in homes)
            raise PageError(f"{where}: {key!r} stands in several sections: say {choices}")
        path = [*homes[0], key]
    for name in path[:-1]:
        table = _term(table, name) if isinstance(table, list) else table.setdefault(name, {})
        if not isinstance(table, dict | list):
            raise PageError(f"{where}: {name!r} in {key!r} is not a table")
    if not isinstance(table, dict):
        raise PageError(f"{where}: {key!r}: name the reward's term, as in 'reward.outcome.correct'")
    table[path[-1]] = _merge(table.get(path[-1]), value)


def _terms_with(table: Table, key: str) -> list[tuple[str, ...]]:
    """The terms of the reward that have the option `key`."""
    terms = [str(term.get("term")) for term in table.get("reward", ()) if isinstance(term, Mapping)]
    return [("reward", term) for term in terms if key in _options("toolenvs.rewards.terms", term)]


def _term(reward: list[Any], name: str) -> Any:
    """The reward's table of that term; None where there is none."""
    return next((term for term in reward if isinstance(term, dict) and term.get("term") == name), None)


def _path(table: Table, key: str) -> list[str]:
    """A dotted name taken apart; a key of the table that holds dots itself, as a tool from elsewhere, stays whole."""
    whole = max((name for name in table if key.startswith(f"{name}.")), key=len, default=key.partition(".")[0])
    rest = key[len(whole) + 1 :]
    return [whole, *(_path(_section(table, whole), rest) if "." in rest else [rest] if rest else [])]


def _merge(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _merge(old.get(key), value) for key, value in new.items()}}
    return new


def _leaves(table: Table) -> dict[tuple[str, ...], set[str]]:
    """The keys that each section may hold, by the section's path."""
    protocol = set(schema.fields(ProtocolTable)) - {"options"}
    leaves: dict[tuple[str, ...], set[str]] = {
        ("paper",): set(schema.fields(Paper)),
        ("prompt",): set(schema.fields(Prompt)),
        ("protocol",): protocol | _options("toolenvs.protocols", _section(table, "protocol").get("kind")),
        ("budget",): set(schema.fields(Limits)),
        ("spaces",): set(schema.fields(Spaces)),
        ("audit",): set(schema.fields(Audit)),
        ("tasks",): set(_section(table, "tasks")) | {"set", "split", "size", "limit", "difficulty", "bad_golds"},
        ("judge",): {"name"} | _options("toolenvs.rewards.judges", _section(table, "judge").get("name")),
    }
    for tool in _section(table, "tools"):
        leaves["tools", tool] = _options("toolenvs.tools", tool)
    return leaves


def _section(table: Table, name: str) -> Table:
    section = table.get(name)
    return section if isinstance(section, Mapping) else {}


def _options(package: str, name: Any) -> set[str]:
    """The options of a plugin; none where there is no such plugin, which the blueprint will say."""
    if not isinstance(name, str):
        return set()
    try:
        return set(schema.fields(plugins.find(package, *plugins.beside(name, "Options"), name)))
    except PageError:
        return set()
