"""Whether the text backend and Chromium show the same: lines and links of recorded pages, and where their links lead.

    python benchmarks/web_chromium.py FOLDER [FOLDER ...] --pages 600 --clicks 200

Each folder is a site (for instance what Debian's packages python3-doc, postgresql-doc and git-doc install). Pages are
drawn with a seed. A page counts as equal when its title, every line, every link with its address, every field and every
anchor are equal; pages with scripts that change them are listed. A click counts as equal when both backends then show
the same page from the same line, or refuse with the same status.
"""

import argparse
import asyncio
import json
import mimetypes
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from toolenvs import web
from toolenvs.web import chromium


class Folder:
    """A folder as an ASGI application."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        path = (self.root / unquote(scope["path"]).lstrip("/")).resolve()
        found = path.is_relative_to(self.root) and path.is_file()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        body = path.read_bytes() if found else b""
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200 if found else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def shown(page: web.Page) -> tuple[Any, ...]:
    """What must be equal, apart from how Chromium names its elements."""
    document = page.document
    if document is None:
        return page.status, page.url
    return (
        page.status,
        document.url,
        document.title,
        document.lines,
        tuple((link.number, link.line, link.text, link.url) for link in document.links),
        tuple((field.number, field.line, field.kind, field.name, field.value, field.form) for field in document.fields),
        dict(document.anchors),
    )


def difference(one: web.Page, other: web.Page) -> str:
    a, b = shown(one), shown(other)
    names = ("status", "url", "title", "lines", "links", "fields", "anchors")
    for name, x, y in zip(names, a, b, strict=False):
        if x != y:
            if isinstance(x, tuple) and isinstance(y, tuple):
                first = next((pair for pair in zip(x, y, strict=False) if pair[0] != pair[1]), (len(x), len(y)))
                return f"{name}: {first[0]!r:.150} | {first[1]!r:.150}"
            return f"{name}: {x!r:.150} | {y!r:.150}"
    return "lengths"


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="+", type=Path)
    arguments.add_argument("--pages", type=int, default=600)
    arguments.add_argument("--clicks", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--no-javascript", action="store_true")
    given = arguments.parse_args()
    rng = random.Random(given.seed)
    every = [
        (root, f"http://app.test/{quote(str(path.relative_to(root)))}")
        for root in given.folders
        for path in sorted(root.rglob("*.html"))
    ]
    drawn = rng.sample(every, min(given.pages, len(every)))
    sources = {root: web.shared(Folder(root), stateless=True) for root in given.folders}
    options = {"max_pages": 100_000, "max_total_bytes": 2_000_000_000, "timeout_s": 60.0}
    text = {root: source.browser(**options) for root, source in sources.items()}
    real = {
        root: source.browser(backend="chromium", javascript=not given.no_javascript, **options)
        for root, source in sources.items()
    }
    equal, clicked, different, cost = Counter[str](), Counter[str](), [], Counter[str]()
    for place, (root, address) in enumerate(drawn):
        one = await _timed(text[root].aopen(address), "text", cost)
        other = await _timed(real[root].aopen(address), "chromium", cost)
        same = shown(one) == shown(other)
        equal["all"] += same
        equal["lines and links"] += same or shown(one)[:5] == shown(other)[:5]
        if not same:
            different.append((address, difference(one, other)))
        links = min(len(one.links), len(other.links))
        if same and links and clicked.total() < given.clicks:
            number = rng.choice(one.links[:links]).number
            one, other = await text[root].aclick(number), await real[root].aclick(number)
            same = shown(one) == shown(other) and one.first_line == other.first_line
            clicked[f"{same} {one.status}"] += 1
            if not same:
                different.append((f"{address} click {number}", difference(one, other)))
        if place % 100 == 99:
            print(f"{place + 1} pages, equal {dict(equal)}, clicks {dict(clicked)}", flush=True)
    for browser in (*text.values(), *real.values()):
        await browser.aclose()
    for address, told in different:
        print(address, told)
    seconds = {name: round(1000 * value / len(drawn), 1) for name, value in cost.items()}
    print(json.dumps({"pages": len(drawn), "equal": dict(equal), "clicks": dict(clicked), "wall_ms": seconds}))
    chromium.shutdown()


async def _timed(action: Any, name: str, cost: Counter[str]) -> web.Page:
    started = time.perf_counter()
    page: web.Page = await action
    cost[name] += time.perf_counter() - started  # type: ignore[assignment]
    return page


if __name__ == "__main__":
    asyncio.run(main())
