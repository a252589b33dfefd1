"""Build an index folder from a corpus file."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.retrieval import corpora
from toolenvs.retrieval.corpus import Passage, Progress, read_corpus
from toolenvs.retrieval.store import Store, Writer, write_store
from toolenvs.world import named

BUILDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bm25": ("toolenvs.retrieval.bm25", {"k1": 0.9, "b": 0.4, "processes": None}),
    "lucene": ("toolenvs.retrieval.lucene", {"threads": 1, "heap": "2g", "jar": None}),
    "dense": ("toolenvs.retrieval.dense", {"encoder": "wordllama", "encoder_options": None, "kind": "exact"}),
}
"""Name -> module with a function `writer`, and its options with their defaults."""


class Report(Protocol):
    """Is told how far a build has come."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` of a stage: "corpus" (bytes or rows) or the name of a backend (passages)."""


def index(
    corpus: str | Path,
    out: str | Path,
    backends: Sequence[str] = ("bm25",),
    options: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Store:
    """Write the passages of a corpus file into the folder `out`, and an index of each of `backends`.

    What was in the folder before is replaced part by part, each when the new one is complete; an interrupted build
    leaves no half part.

    Args:
        corpus: a .jsonl, .jsonl.gz or .parquet file; see `toolenvs.retrieval.corpus`. Or the name of a corpus of
            `toolenvs.retrieval.corpora`, or "world:PASSAGES[:SEED]", where there is no such file.
        out: the index folder.
        backends: names of `BUILDERS`.
        options: of the builders, such as `k1` and `b` for bm25.
        report: told how far it has come.

    Raises:
        ConfigError: the corpus, a backend or an option cannot be used; says where and why.
        MissingExtraError: a backend needs a package that is not installed.
    """
    if isinstance(backends, str):
        raise ConfigError(f"backends are names in a list, such as ({backends!r},), not {backends!r}")
    if Path(out).exists() and not Path(out).is_dir():
        raise ConfigError(f"{out} is a file: give a folder for the index")
    given, unused = dict(options or {}), set(options or {})
    wanted = []
    for name in dict.fromkeys(backends):
        if name not in BUILDERS:
            raise ConfigError(f"no index for {name!r}; {did_you_mean(name, BUILDERS)}")
        module, defaults = BUILDERS[name]
        mine = {key: given.get(key, value) for key, value in defaults.items()}
        unused -= defaults.keys()
        wanted.append((name, importlib.import_module(module), mine))
    if unused:
        known = [key for name in backends for key in BUILDERS[name][1]]
        raise ConfigError(f"no option {sorted(unused)[0]!r} of {', '.join(backends)}; known: {', '.join(known)}")

    writers: list[tuple[str, Writer]] = [(name, module.writer(**mine)) for name, module, mine in wanted]

    def reading(done: int, total: int) -> None:
        if report is not None:
            report("corpus", done, total)

    store = write_store(_passages(corpus, reading), Path(out))
    for name, write in writers:

        def building(done: int, name: str = name) -> None:
            if report is not None:
                report(name, done, len(store))

        write(store, building)
    return store


def _passages(corpus: str | Path, reading: Progress) -> Iterator[Passage]:
    if Path(corpus).exists():
        return read_corpus(Path(corpus), reading)
    name = str(corpus)
    world, found = named(name), corpora.find(name)
    if world is not None:
        return (Passage(one.id, one.title, one.text) for one in world.passages())
    if found is not None:
        return found.passages()
    known = corpora.names()
    raise ConfigError(
        f"there is no corpus file at {name}, and no corpus of that name ('world:PASSAGES' or 'world:PASSAGES:SEED' "
        f"is one); {did_you_mean(name, known)}"
    )
