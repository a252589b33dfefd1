"""200,000 passages of real text, for benchmarks/retrieval.py: Debian's documentation packages, cut at about 100 words.

    python benchmarks/corpus.py FOLDER

`apt-get download` fetches the packages into FOLDER/debs (about 210 MB); nothing is installed. The passages go to
FOLDER/passages.jsonl, one {"id", "contents"} a line as Search-R1 has them, and 3,000 queries to FOLDER/queries.txt.
The texts keep the licences of their packages, and are not redistributed here.
"""

import gzip
import html
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = [
    "linux-doc-6.1", "python3.11-doc", "openjdk-17-doc", "qtbase5-doc-html", "cppreference-doc-en-html",
    "perl-doc", "postgresql-doc-15", "gimp-help-en", "libreoffice-help-en-us", "debian-handbook",
    "debian-reference-en", "manpages", "manpages-dev", "dict-gcide", "dict-wn", "dict-foldoc",
    "dict-jargon", "dict-vera",
]  # fmt: skip
PASSAGES = 200_000
WORDS = 102
QUERIES = 3_000
QUESTIONS = ["what is", "who was", "how does", "when did", "where can", "why is", "which", "define", "how to", ""]
LANGUAGES = re.compile(r"/(?:[a-z]{2}-[A-Z]{2}|ja|fr|de|es|it|pt|zh|ru|ko)/")
SKIPPED = re.compile(r"/(?:search|genindex|contents|index-all|allclasses|doc-files/copyright)", re.IGNORECASE)
DROPPED = re.compile(r"<(script|style|head|nav|header|footer)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
ROFF = re.compile(r'^\.\\".*$|^[.\'][A-Za-z]{1,2}\s?|\\f[A-Z]|\\&|\\\(..|\\', re.MULTILINE)


def fetch(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in PACKAGES if not list(folder.glob(f"{name}_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", "-q", *missing], cwd=folder, check=True)
    unpacked = []
    for name in PACKAGES:
        target = folder / name
        if not target.exists():
            subprocess.run(["dpkg-deb", "-x", str(next(folder.glob(f"{name}_*.deb"))), str(target)], check=True)
        unpacked.append(target)
    return unpacked


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", DROPPED.sub(" ", markup)))


def documents(root: Path) -> Iterator[tuple[str, str]]:
    """Title and text of every page, manual and dictionary entry under `root`."""
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink() or not path.is_file() or LANGUAGES.search(f"/{name}") or SKIPPED.search(name):
            continue
        suffixes = "".join(path.suffixes)
        if suffixes.endswith(".dict.dz"):
            yield from entries(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
            continue
        packed = path.suffix == ".gz"
        kind = path.with_suffix("").suffix if packed else path.suffix
        if kind not in {".html", ".htm", ".txt", ".rst", ".pod"} and not re.fullmatch(r"\.[1-8][a-z]*", kind):
            continue
        text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode("utf-8", "replace")
        title = path.name.split(".")[0]
        if kind in {".html", ".htm"}:
            found = TITLE.search(text)
            title, text = (html.unescape(found[1]).strip() if found else title), plain(text)
        elif kind not in {".txt", ".rst"}:
            text = ROFF.sub("", text)
        yield " ".join(title.split()), text


def entries(dictionary: str) -> Iterator[tuple[str, str]]:
    """A dictionary's entries begin at the left margin; thirty of them make one document, as few fill a passage."""
    parts = re.split(r"\n(?=\S)", dictionary)
    for start in range(0, len(parts), 30):
        yield parts[start].split("\n")[0][:60].strip(), " ".join(parts[start : start + 30])


def passages(roots: list[Path]) -> Iterator[tuple[str, str]]:
    seen: set[int] = set()
    for root in roots:
        for title, text in documents(root):
            words = text.split()
            for start in range(0, len(words), WORDS):
                passage = " ".join(words[start : start + WORDS])
                letters = sum(character.isalpha() or character == " " for character in passage)
                if len(words[start:]) < 20 or letters < 0.7 * len(passage) or hash(passage) in seen:
                    continue
                seen.add(hash(passage))
                yield title, passage


def queries(texts: list[str], rng: random.Random) -> Iterator[str]:
    for _ in range(QUERIES):
        words = re.findall(r"[^\W_]+", rng.choice(texts))
        length = rng.randint(3, 10)
        start = rng.randrange(max(1, len(words) - length))
        yield f"{rng.choice(QUESTIONS)} {' '.join(words[start : start + length])}".strip()


def build(folder: Path) -> tuple[Path, Path]:
    """`passages.jsonl` and `queries.txt` of `folder`, made if they are not there."""
    rows, asked = folder / "passages.jsonl", folder / "queries.txt"
    if rows.exists() and asked.exists():
        return rows, asked
    rng = random.Random(0)
    found = list(passages(fetch(folder / "debs")))
    chosen = sorted(rng.sample(range(len(found)), min(PASSAGES, len(found))))
    with rows.open("w", encoding="utf-8") as out:
        for number, row in enumerate(chosen):
            title, text = found[row]
            out.write(json.dumps({"id": str(number), "contents": f'"{title}"\n{text}'}, ensure_ascii=False) + "\n")
    asked.write_text("\n".join(queries([found[row][1] for row in chosen], rng)) + "\n", "utf-8")
    print(f"{len(chosen)} of {len(found)} passages, {rows.stat().st_size / 1e6:.0f} MB")
    return rows, asked


if __name__ == "__main__":
    build(Path(sys.argv[1]))
