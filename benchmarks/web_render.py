"""Rendering of web pages: ours beside gpt-oss's browser tool and html2text, on the same pages and one core.

    python benchmarks/web_render.py FOLDER... [--pages 300] [--peer /tmp/peer/bin/python]

FOLDER holds HTML files, such as the unpacked packages python3-doc, postgresql-doc and git-doc. The peer's Python has
`gpt-oss` (its `process_html`, `wrap_lines` and `run_find_in_page`'s loop) and `html2text`; it runs in a process of its
own, since its requirements are not ours. Times are CPU seconds, the best of `--repeats`.
"""

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

_WORD = re.compile(r"\w+")


def _pages(folders: list[str], count: int, seed: int) -> list[Path]:
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.html") if not path.is_symlink())
    random.Random(seed).shuffle(files)
    return files[:count]


def _best(act, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        act()
        best = min(best, time.process_time() - started)
    return best


def ours(paths: list[Path], phrases: dict[str, list[str]], repeats: int) -> dict[str, object]:
    from toolenvs.web.render import render

    seconds, words, rows, views, finds, hits, asked = [], [], [0, 0], [], [], 0, 0
    for path in paths:
        body = path.read_bytes()
        url = f"https://docs.test/{path.name}"
        seconds.append(_best(lambda body=body, url=url: render(body, url=url), repeats))
        document = render(body, url=url)
        words.append(_kept(body, "\n".join(document.lines)))
        found, total = _rows(body, document.lines)
        rows[0], rows[1] = rows[0] + found, rows[1] + total
        views.append(_best(lambda document=document: document.view(0, 4_000), repeats))
        document = render(body, url=url)
        for phrase in phrases[str(path)]:
            finds.append(_best(lambda document=document, phrase=phrase: document.find(phrase), repeats))
            hits, asked = hits + bool(document.find(phrase)), asked + 1
    return _summary(seconds, words, rows, views, finds, hits, asked)


def peer(paths: list[Path], phrases: dict[str, list[str]], repeats: int, name: str) -> dict[str, object]:
    seconds, words, rows, views, finds, hits, asked, failed = [], [], [0, 0], [], [], 0, 0, 0
    if name == "html2text":
        import html2text

        def read(html: str, url: str) -> str:
            reader = html2text.HTML2Text()
            reader.body_width = 0
            return reader.handle(html)
    else:
        from gpt_oss.tools.simple_browser.page_contents import process_html

        def read(html: str, url: str) -> str:
            return process_html(html, url, None).text

    for path in paths:
        html = path.read_bytes().decode("utf-8", "replace")
        url = f"https://docs.test/{path.name}"
        try:
            text = read(html, url)
        except ValueError:  # lxml refuses text with an XML declaration
            failed += 1
            html = re.sub(r"^\s*<\?xml[^>]*>", "", html)
            text = read(html, url)
        seconds.append(_best(lambda html=html, url=url: read(html, url), repeats))
        words.append(_kept(html.encode(), text))
        found, total = _rows(html.encode(), text.split("\n"))
        rows[0], rows[1] = rows[0] + found, rows[1] + total
        if name == "html2text":
            continue
        from gpt_oss.tools.simple_browser.page_contents import PageContents
        from gpt_oss.tools.simple_browser.simple_browser_tool import join_lines, run_find_in_page, wrap_lines

        views.append(_best(lambda text=text: join_lines(wrap_lines(text)[:60], True, 0), repeats))
        page = PageContents(url=url, text=text, title="", urls={})
        for phrase in phrases[str(path)]:
            finds.append(_best(lambda phrase=phrase, page=page: _run(run_find_in_page(phrase, page)), repeats))
            answer = _run(run_find_in_page(phrase, page)).text
            hits, asked = hits + ("No `find` results" not in answer), asked + 1
    return _summary(seconds, words, rows, views, finds, hits, asked) | {"refused at first": failed}


def _run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stopped:
        return stopped.value
    raise RuntimeError("the peer's find waits for something")


def _kept(body: bytes, text: str) -> float:
    """The share of the page's words that stand in the text."""
    from lxml import html as lxml_html

    root = lxml_html.fromstring(body)
    for gone in root.xpath("//script | //style | //head"):
        gone.drop_tree()
    wanted = _WORD.findall(" ".join(root.itertext()))
    there = set(_WORD.findall(text))
    return sum(word in there for word in wanted) / len(wanted) if wanted else 1.0


def _rows(body: bytes, lines) -> tuple[int, int]:
    """Rows of innermost tables with two cells or more of one to six words each, and how many stand on one line."""
    from lxml import html as lxml_html

    root = lxml_html.fromstring(body)
    folded = [" ".join(_WORD.findall(line)) for line in lines]
    whole = "\n".join(folded)
    found = total = 0
    for row in root.xpath("//table[not(.//table)]//tr[count(td|th) >= 2]"):
        cells = [" ".join(_WORD.findall(" ".join(cell.itertext()))) for cell in row.xpath("td|th")]
        cells = [cell for cell in cells if cell]
        if len(cells) < 2 or any(len(cell.split()) > 6 for cell in cells):
            continue
        total += 1
        pattern = r"[^\n]*".join(r"\b" + r"\W*(?:\d+\W+)?".join(map(re.escape, cell.split())) for cell in cells)
        found += re.search(pattern, whole) is not None
    return found, total


def _summary(seconds, words, rows, views, finds, hits, asked) -> dict[str, object]:
    told: dict[str, object] = {
        "pages": len(seconds),
        "pages a second": round(len(seconds) / sum(seconds), 1),
        "p50 ms": round(1e3 * statistics.median(seconds), 2),
        "p99 ms": round(1e3 * statistics.quantiles(seconds, n=100)[98], 1),
        "words kept": round(statistics.mean(words), 4),
        "rows on one line": round(rows[0] / max(rows[1], 1), 4),
        "rows": rows[1],
    }
    if views:
        told |= {
            "view ms": round(1e3 * statistics.mean(views), 4),
            "find ms": round(1e3 * statistics.mean(finds), 4),
            "phrases found": f"{hits} of {asked}",
        }
    return told


def _phrases(paths: list[Path], seed: int) -> dict[str, list[str]]:
    """For each page two runs of four words of one block, as it reads."""
    from lxml import html as lxml_html

    draws, phrases = random.Random(seed), {}
    for path in paths:
        root = lxml_html.fromstring(path.read_bytes())
        blocks = [" ".join(" ".join(block.itertext()).split()) for block in root.xpath("//p[not(.//p)]")]
        odd = re.compile(r"[^\x20-\x7e]| [,.;:)]|\( ")
        blocks = [block for block in blocks if len(block.split()) > 6 and not odd.search(block)]
        phrases[str(path)] = []
        for block in draws.sample(blocks, min(2, len(blocks))):
            words = block.split()
            start = draws.randrange(len(words) - 4)
            phrases[str(path)].append(" ".join(words[start : start + 4]))
    return phrases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", help="a Python with gpt-oss, html2text and lxml")
    parser.add_argument("--as", dest="role", default="ours", help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = _pages(options.folders, options.pages, options.seed)
    phrases = _phrases(paths, options.seed)
    if options.role != "ours":
        print(json.dumps(peer(paths, phrases, options.repeats, options.role)))
        return
    told = {"toolenvs": ours(paths, phrases, options.repeats)}
    for role in ("gpt-oss", "html2text") if options.peer else ():
        command = [options.peer, __file__, *sys.argv[1:], "--as", role]
        told[role] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
