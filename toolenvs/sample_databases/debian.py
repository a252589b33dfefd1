"""Debian's package index: packages of seven sections with everything that they depend on, dependencies, and tags.

Read from what apt keeps of the main archive. `TOOLENVS_DEBIAN_INDEX` names an index elsewhere: a file "Packages", plain
or packed with gzip, bzip2 or xz. The index changes with each release of Debian, and the database with it.
"""

import bz2
import functools
import gzip
import hashlib
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from toolenvs.errors import TaskError
from toolenvs.sample_databases import _installed

_WHAT = "the database 'debian'"
_ELSEWHERE = "TOOLENVS_DEBIAN_INDEX"
_HELPER = Path("/usr/lib/apt/apt-helper")
_FORM = 1
"""To be raised when tables are written in another way."""
SECTIONS = ("database", "editors", "httpd", "mail", "shells", "vcs", "web")
KINDS = ("Pre-Depends", "Depends", "Recommends", "Suggests")
_STRONG = KINDS[:2]
_TABLES = (
    "CREATE TABLE package (\n    name TEXT PRIMARY KEY,\n    source TEXT,\n    version TEXT NOT NULL,\n"
    "    section TEXT NOT NULL,\n    priority TEXT NOT NULL,\n    architecture TEXT NOT NULL,\n"
    "    maintainer TEXT NOT NULL,\n    homepage TEXT,\n    installed_size INTEGER,\n    size INTEGER NOT NULL,\n"
    "    summary TEXT NOT NULL\n)",
    "CREATE TABLE dependency (\n    package TEXT NOT NULL REFERENCES package (name),\n"
    "    target TEXT NOT NULL REFERENCES package (name),\n    kind TEXT NOT NULL,\n    version TEXT,\n"
    "    PRIMARY KEY (package, target, kind)\n)",
    "CREATE TABLE tag (\n    package TEXT NOT NULL REFERENCES package (name),\n    tag TEXT NOT NULL,\n"
    "    facet TEXT NOT NULL,\n    PRIMARY KEY (package, tag)\n)",
    "CREATE INDEX dependency_target ON dependency (target)",
)
"""`source` is NULL where it has the package's own name; sizes are in kB (installed) and bytes (of the file). A target
that is no package but what several provide is left out, as is one that is not in the table."""
_FIELDS = {
    "Package", "Source", "Version", "Section", "Priority", "Architecture", "Maintainer", "Homepage", "Installed-Size",
    "Size", "Description", "Tag", *KINDS,
}  # fmt: skip
_NAMED = re.compile(r"([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\(([^)]*)\))?")
Stanza = Mapping[str, str]


def form() -> str:
    """Which index it is, and how tables are written.

    Raises:
        TaskError: there is no index.
    """
    path = _index()
    state = path.stat()
    return f"{_fingerprint(path, state.st_size, state.st_mtime_ns)}-{_FORM}"


def fill(base: sqlite3.Connection) -> None:
    """Make the tables.

    Raises:
        TaskError: there is no index, or it holds no package of the sections.
    """
    path = _index()
    packages: dict[str, Stanza] = {}
    for stanza in stanzas(_unpacked(path)):
        packages.setdefault(stanza["Package"], stanza)
    chosen = sorted(_closure(packages))
    if not chosen:
        raise TaskError(f"{_WHAT}: {path} holds no package of the sections {', '.join(SECTIONS)}")
    for table in _TABLES:
        base.execute(table)
    within = set(chosen)
    for name in chosen:
        base.execute(f"INSERT INTO package VALUES ({', '.join('?' * 11)})", _row(packages[name]))
    for name in chosen:
        for kind in KINDS:
            found = [(name, target, kind, version) for target, version in _targets(packages[name], kind).items()]
            base.executemany("INSERT INTO dependency VALUES (?, ?, ?, ?)", [row for row in found if row[1] in within])
    for name in chosen:
        tags = sorted({tag.strip() for tag in packages[name].get("Tag", "").split(",") if tag.strip()})
        base.executemany("INSERT INTO tag VALUES (?, ?, ?)", [(name, tag, tag.partition("::")[0]) for tag in tags])
    _installed.check_rows(base, {"package": len(chosen)}, _WHAT)


def stanzas(text: str) -> Iterator[Stanza]:
    """The packages of an index, with the fields that are read; lines that go on are joined with a blank.

    Of a description, only its first line is kept.
    """
    for block in re.split(r"\n{2,}", text):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1] in " \t":
                if name and name != "Description":
                    fields[name] += f" {line.strip()}"
            else:
                name, _, value = line.partition(":")
                if name in _FIELDS:
                    fields[name] = value.strip()
                else:
                    name = ""
        if "Package" in fields:
            yield fields


def _closure(packages: Mapping[str, Stanza]) -> set[str]:
    """The packages of the sections, and all that they depend on over any number of steps."""
    found: set[str] = set()
    waiting = [name for name, stanza in packages.items() if stanza.get("Section") in SECTIONS]
    while waiting:
        name = waiting.pop()
        if name not in found and name in packages:
            found.add(name)
            waiting += [target for kind in _STRONG for target in _targets(packages[name], kind)]
    return found


def _targets(stanza: Stanza, kind: str) -> dict[str, str | None]:
    """All alternatives of a field, in its order, with what is asked of their versions."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"[,|]", stanza.get(kind, "")):
        read = _NAMED.match(part.strip())
        if read:
            found.setdefault(read[1], []).extend([read[2].strip()] if read[2] else [])
    return {target: ", ".join(dict.fromkeys(versions)) or None for target, versions in found.items()}


def _row(stanza: Stanza) -> tuple[str | int | None, ...]:
    source = stanza.get("Source", stanza["Package"]).partition(" ")[0]
    size = stanza.get("Installed-Size")
    return (
        stanza["Package"],
        None if source == stanza["Package"] else source,
        stanza["Version"],
        stanza["Section"],
        stanza.get("Priority", "optional"),
        stanza["Architecture"],
        stanza["Maintainer"].partition("<")[0].strip(' "'),  # people's addresses are of no use here
        stanza.get("Homepage"),
        int(size) if size else None,
        int(stanza["Size"]),
        stanza["Description"],
    )


def _index() -> Path:
    """The file of the index.

    Raises:
        TaskError: there is none.
    """
    elsewhere = os.environ.get(_ELSEWHERE)
    if elsewhere:
        if not Path(elsewhere).is_file():
            raise TaskError(f"{_WHAT}: {_ELSEWHERE} names {elsewhere}, and there is no such file")
        return Path(elsewhere)
    listed = _listed()
    found = [path for path in map(Path, listed) if path.is_file()]
    if not found:
        raise TaskError(
            f"{_WHAT} is made from Debian's package index, and apt has none here: run 'apt-get update' on Debian, or "
            f"set {_ELSEWHERE} to a file 'Packages' of its main archive"
        )
    return max(found, key=lambda path: path.stat().st_size)  # updates of the release have small ones


@functools.cache
def _listed() -> tuple[str, ...]:
    """Where apt would keep its indexes of the main archive."""
    apt = shutil.which("apt-get")
    if apt is None:
        return ()
    wanted = ["--format", "$(FILENAME)", "Created-By: Packages", "Component: main"]
    told = subprocess.run([apt, "indextargets", *wanted], capture_output=True, text=True)
    return tuple(told.stdout.split())


@functools.cache
def _fingerprint(path: Path, size: int, changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _unpacked(path: Path) -> str:
    unpack: Mapping[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress,
    }  # fmt: skip
    if path.suffix in (".lz4", ".zst", ".lzma"):  # what only apt's own program unpacks
        told = subprocess.run([_HELPER, "cat-file", path], capture_output=True)
        if told.returncode or not told.stdout:
            raise TaskError(f"{_WHAT}: {path} cannot be unpacked: {told.stderr.decode(errors='replace').strip():.200}")
        return told.stdout.decode()
    return unpack.get(path.suffix, bytes)(path.read_bytes()).decode()
