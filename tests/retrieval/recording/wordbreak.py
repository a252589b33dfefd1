"""Record how Lucene's StandardTokenizer treats every code point: toolenvs/retrieval/analysis/wordbreak.txt.

    python tests/retrieval/recording/wordbreak.py JAR OUT

JAR is the jar inside the wheel of pyserini 0.25.0; needs pyjnius. Each code point is put into probe strings, and what
becomes of them tells its class. The letters of the classes are explained in toolenvs/retrieval/analysis/boundaries.py.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import jnius_config

PROBES = {
    "alone": "{c}",
    "ac": "a{c}",
    "aca": "a{c}a",
    "1c1": "1{c}1",
    "cc": "{c}{c}",
    "c_": "{c}_",
    "ca": "{c}a",
    "kana": "カ{c}",
    "hebrew": "א{c}א",
    "1,c": "1,{c}",
    'c"c': '{c}"{c}',
    "zwj": "{c}\u200d{c}",
    "man": "👨{c}👨",
    "smile": "☺{c}",
}
EXCEPTIONS = {0xFE0F: "V", 0x20E3: "k", 0x23: "#", 0x2A: "#"}
BATCH = 400


def classify(tokens: dict[str, int], point: int) -> str:
    """The class of a code point, from the number of tokens that each probe became."""
    if point in EXCEPTIONS:
        return EXCEPTIONS[point]
    if tokens["alone"]:
        if tokens["aca"] == 1 and tokens["ca"] == 1:
            return "N" if tokens["1,c"] == 1 else "H" if tokens['c"c'] == 1 else "L"
        if tokens["ac"] == 1:
            return "T"
        if tokens["kana"] == 1 and tokens["cc"] == 1:
            return "K"
        if tokens["cc"] == 1:
            return "S"
        return "P" if tokens["zwj"] == 1 else "I"
    if tokens["cc"]:
        return "R"
    if tokens["c_"] == 0 and tokens["aca"] == 1 and tokens["1c1"] == 1 and tokens["man"] == 1:
        return "Z"
    joins = (tokens["aca"] == 1, tokens["1c1"] == 1)
    if joins == (True, True):
        if tokens["length of ca"] == 2:
            return "X"
        if tokens["length of ac"] == 2:
            return "e" if tokens["length of smile"] == 1 else "E"
        return "B" if point != 0x27 else "Q"
    if joins == (True, False):
        return "M"
    if joins == (False, True):
        return "n"
    return "D" if tokens["hebrew"] == 1 else "."


def classes(jar: str) -> Iterator[tuple[int, str]]:
    jnius_config.set_classpath(jar)
    from jnius import autoclass

    analyzer = autoclass("org.apache.lucene.analysis.standard.StandardAnalyzer")()
    utils = autoclass("io.anserini.analysis.AnalyzerUtils")
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    for start in range(0, len(points), BATCH):
        part = points[start : start + BATCH]
        text = "".join(probe.format(c=chr(point)) + " zzz " for point in part for probe in PROBES.values())
        found = utils.analyze(analyzer, text).toString()[1:-1].split(", ")
        groups: list[list[str]] = [[]]
        for token in found:
            if token == "zzz":
                groups.append([])
            else:
                groups[-1].append(token)
        assert len(groups) == len(part) * len(PROBES) + 1
        for number, point in enumerate(part):
            mine = dict(zip(PROBES, groups[number * len(PROBES) :], strict=False))
            tokens = {name: len(group) for name, group in mine.items()}
            tokens |= {f"length of {name}": len(group[0]) if group else 0 for name, group in mine.items()}
            yield point, classify(tokens, point)


def ranges(found: Iterator[tuple[int, str]]) -> Iterator[str]:
    first, last, name = 0, -1, "."
    for point, letter in found:
        if letter != name or point != last + 1:
            if name != ".":
                yield f"{first:x} {last:x} {name}" if first != last else f"{first:x} {name}"
            first, name = point, letter
        last = point
    if name != ".":
        yield f"{first:x} {last:x} {name}"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(ranges(classes(sys.argv[1]))) + "\n", "ascii")
