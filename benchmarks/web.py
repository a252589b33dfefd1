"""Browsing a recorded site: next to the same pages over a loopback server, and many episodes at once.

    python benchmarks/web.py [SITE]

The site is "sites/python3-doc" by default, which `toolenvs site build python3-doc` makes. Needs `toolenvs[web,serve]`.
CPU time stands beside wall time: the first travels better from a busy machine.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from toolenvs.web.browser import Browser
from toolenvs.web.fetch import Fetcher, Request
from toolenvs.web.guard import Policy
from toolenvs.web.limits import Limits
from toolenvs.web.live import Live
from toolenvs.web.recorded import Recording
from toolenvs.web.urls import canonical

PAGES = 100
ROUNDS = 5
EPISODES = 64
ACTIONS = 150
WORDS = [
    "file",
    "path",
    "option",
    "default",
    "list",
    "string",
    "error",
    "value",
    "function",
    "module",
    "object",
    "time",
]


def serve(site: str, port: int) -> None:
    """The pages of a site, by their number, over uvicorn."""
    import uvicorn

    store = Recording(site).store
    pages = {f"/{number}": store.get(url) for number, url in enumerate(store.urls())}

    async def app(scope, receive, send) -> None:
        if scope["type"] != "http":
            return
        page = pages.get(scope["path"])
        headers = [(name.encode(), value.encode()) for name, value in page.headers] if page else []
        length = [(b"content-length", str(len(page.body) if page else 0).encode())]
        await send({"type": "http.response.start", "status": page.status if page else 404, "headers": headers + length})
        await send({"type": "http.response.body", "body": page.body if page else b""})

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def timed(act: Callable[[int], object], numbers: list[int]) -> list[float]:
    taken = []
    for number in numbers:
        started = time.perf_counter()
        act(number)
        taken.append(time.perf_counter() - started)
    return taken


def offline(site: str) -> None:
    """One page after another: out of the store, and over a loopback server; loaded, and opened by a browser."""
    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(port), site])
    try:
        source = Recording(site)
        every = source.store.urls()
        numbers = random.Random(0).sample(range(len(every)), min(2 * PAGES, len(every)))
        numbers = [number for number in numbers if source._document(every[number]) is not None][:PAGES]
        urls = [every[number] for number in numbers]
        order = list(range(len(urls)))
        limits = Limits()
        fetcher = Fetcher(source, source.transport(limits), limits)
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False)
        for _ in range(200):
            try:
                client.get("/0")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", port)}))
        live = Live(policy=policy).browser(pace_s=0, max_total_bytes=2**31 - 1)
        recorded = source.browser()

        def load(index: int) -> int:
            try:
                fetcher.fetch(Request(canonical(urls[index]))).send(None)
            except StopIteration as ended:
                return len(ended.value.body)
            raise AssertionError

        ways = {
            "load: store": load,
            "load: httpx -> uvicorn": lambda index: len(client.get(f"/{numbers[index]}").content),
            "open: recorded site": lambda index: recorded.open(urls[index]).document,
            "open: over the loopback server": lambda index: (
                live.open(f"http://127.0.0.1:{port}/{numbers[index]}").document
            ),
        }
        same = [load(index) == ways["load: httpx -> uvicorn"](index) for index in order]
        assert all(same)
        assert all(recorded.open(urls[index]).status == "ok" for index in order)
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, act in ways.items():
                taken[name] += timed(act, order)
        print(f"{len(order)} pages of {site}, {ROUNDS} rounds, one core and the server's")
        print("| what | median | p90 |\n|---|---|---|")
        for name, seconds in taken.items():
            cuts = statistics.quantiles(seconds, n=10)
            print(f"| {name} | {statistics.median(seconds) * 1e6:,.0f} us | {cuts[8] * 1e6:,.0f} us |")
        for what in ("load", "open"):
            ours, other = [statistics.median(taken[name]) for name in taken if name.startswith(what)]
            print(f"{what}: {other / ours:.1f} times faster than over the loopback server")
        live.close()
        client.close()
    finally:
        server.kill()
        server.wait()


async def episode(source: Recording, seed: int, actions: int, counts: dict[str, int]) -> None:
    chance = random.Random(seed)
    browser: Browser = source.browser(max_view_chars=4_000)
    page = await browser.aopen()
    for _ in range(actions):
        what = chance.choices(["search", "open", "click", "find", "back", "view"], [5, 20, 25, 20, 15, 15])[0]
        if what == "search":
            page = await browser.asearch(" ".join(chance.sample(WORDS, 3)))
        elif what == "open":
            page = await browser.aopen(chance.choice(source.urls))
        elif what == "click":
            shown = browser._trail.at(None)[1].document
            page = await browser.aclick(chance.choice(shown.links).number if shown.links else 0)
        elif what == "find":
            page = await browser.afind(chance.choice(WORDS))
        elif what == "back":
            page = await browser.aback()
        else:
            page = await browser.aview()
        counts[page.status] = counts.get(page.status, 0) + 1
    await browser.aclose()


def share(site: str, first: int, episodes: int, go, told) -> None:
    """One process with its share of the episodes, first with nothing rendered, then again."""
    source = Recording(site)
    source.urls = source.store.urls()
    source.retriever()
    for state in ("cold", "warm"):
        go.wait()
        counts: dict[str, int] = {}

        async def all_at_once(counts: dict[str, int] = counts, state: str = state) -> None:
            begin = first + (1_000 if state == "warm" else 0)
            await asyncio.gather(*(episode(source, begin + n, ACTIONS, counts) for n in range(episodes)))

        started, used = time.perf_counter(), time.process_time()
        asyncio.run(all_at_once())
        told.put((state, time.perf_counter() - started, time.process_time() - used, counts))


def together(site: str) -> None:
    """Many episodes at once, half of them in each of two processes."""
    Recording(site).retriever()  # built once, outside the clock
    context = multiprocessing.get_context("spawn")
    go, told = context.Barrier(2), context.Queue()
    half = EPISODES // 2
    processes = [context.Process(target=share, args=(site, n * half, half, go, told)) for n in range(2)]
    for process in processes:
        process.start()
    found = [told.get() for _ in range(4)]
    for process in processes:
        process.join()
    print(f"\n{EPISODES} episodes at once on {site}, {ACTIONS} actions each, two processes")
    print("| pages rendered before | actions/s | actions a second of CPU, times 2 | statuses |\n|---|---|---|---|")
    for state in ("cold", "warm"):
        parts = [part for part in found if part[0] == state]
        total = sum(sum(counts.values()) for *_, counts in parts)
        statuses: dict[str, int] = {}
        for *_, counts in parts:
            for status, count in counts.items():
                statuses[status] = statuses.get(status, 0) + count
        wall, cpu = max(part[1] for part in parts), sum(part[2] for part in parts)
        said = json.dumps(dict(sorted(statuses.items())))
        print(f"| {'none' if state == 'cold' else 'most'} | {total / wall:,.0f} | {2 * total / cpu:,.0f} | {said} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("site", nargs="?", default="sites/python3-doc")
    parser.add_argument("--serve", type=int)
    parser.add_argument("--only", choices=["offline", "together"])
    given = parser.parse_args()
    if given.serve:
        serve(given.site, given.serve)
    else:
        assert Path(__file__).exists()
        if given.only != "together":
            offline(given.site)
        if given.only != "offline":
            together(given.site)
