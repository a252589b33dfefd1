"""A server of environments under many episodes, while the clients that run them are killed.

    python benchmarks/serve_env.py [--seconds 600] [--episodes 256] [--clients 8] [--kill-every 5]
                                   [--transport websocket] [--session stateful] [--out serve_env.json]

`toolenvs serve env` runs in a process of its own. Client processes share the episodes among them; in each episode a
stateful interpreter adds numbers up, and every answer is held against the sum that is due, so that a turn that was
lost, or taken twice, is seen. Every few seconds a client, drawn at random, is killed (SIGKILL) and another one started
in its place. At the end all are killed. What has to hold: no wrong answer; when the leases have run out, no session and
no WebSocket is left over, nor more processes and descriptors than the interpreters have that the sandbox keeps ready;
and the server's memory does not grow from the second quarter to the last.

Times are those of turns as clients see them, on a machine that clients, server and interpreters share.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx

from toolenvs import remote
from toolenvs.errors import ToolenvsError

PAGE = "ReTool-v0"
TURNS = 8
LEASE_S = 10.0
REPORT_S = 1.0
READY = 8
"""Interpreters that the sandbox may keep ready, as many as demand asked for last."""
DESCRIPTORS = 6
"""Of one of them, at most."""
CODE = "<code>\n```python\n{}\n```\n</code>"


class Client:
    """Episodes of one process, told of on its standard output."""

    def __init__(self, url: str, number: int, episodes: int, transport: str, session: str) -> None:
        self.blueprint = remote.load(
            url, PAGE, transport=transport, max_turns=TURNS + 1, **{"tools.python.session": session}
        )
        self.number, self.episodes, self.stateful = number, episodes, session == "stateful"
        self.ms: list[float] = []
        self.counts: Counter[str] = Counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for index in range(self.episodes):
                group.create_task(self.play(random.Random(f"{self.number} {index} {os.getpid()}")))
            group.create_task(self.report())

    async def play(self, rng: random.Random) -> None:
        while True:
            try:
                episode = await self.blueprint.begin(rng.randrange(100), seed=rng.randrange(1 << 30), progress=0.0)
            except ToolenvsError as error:
                self.counts[f"begin: {type(error).__name__}"] += 1
                await asyncio.sleep(0.5)
                continue
            total = 0
            for turn in range(TURNS):
                number = rng.randrange(1, 10**6)
                total = total + number if self.stateful else number
                code = "total = {0}" if turn == 0 or not self.stateful else "total += {0}"
                began_s = time.perf_counter()
                told = await episode.step(CODE.format(code.format(number) + "; print(total)"))
                self.ms.append(1e3 * (time.perf_counter() - began_s))
                if told.ending is not None:
                    self.counts[f"{told.ending}: {told.fault}"[:200]] += 1
                    break
                right = len(told.calls) == 1 and told.calls[0].result.strip() == str(total)
                self.counts["right" if right else "wrong"] += 1
                if not right:
                    self.counts[f"wrong: {told.calls}"[:300]] += 1
            await episode.close()
            self.counts["episodes"] += 1

    async def report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            print(json.dumps({"ms": [round(ms, 2) for ms in self.ms], "counts": self.counts}), flush=True)
            self.ms, self.counts = [], Counter()


class Clients:
    """The client processes, and what they told."""

    def __init__(self, options: argparse.Namespace, url: str) -> None:
        self._options = options
        self._url = url
        self._started = 0
        self.ms: list[float] = []
        self.counts: Counter[str] = Counter()
        self.running: list[subprocess.Popen[str]] = []
        self._listening: list[threading.Thread] = []

    def start(self) -> None:
        options = self._options
        command = [
            sys.executable, __file__, "--client", self._url, "--number", str(self._started),
            "--episodes", str(options.episodes // options.clients), "--transport", options.transport,
            "--session", options.session,
        ]  # fmt: skip
        self._started += 1
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        thread = threading.Thread(target=self._listen, args=(process,))
        thread.start()
        self._listening.append(thread)

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(ValueError):  # cut off in the middle
                told = json.loads(line)
                self.ms += told["ms"]
                self.counts.update(told["counts"])

    def kill(self, process: "subprocess.Popen[str]") -> None:
        self.running.remove(process)
        process.kill()
        process.wait()

    def wait(self, turns: int, within_s: float = 180.0) -> None:
        """Until so many turns were right."""
        end_s = time.monotonic() + within_s
        while self.counts["right"] < turns and time.monotonic() < end_s:
            time.sleep(0.2)

    def end(self) -> None:
        for process in list(self.running):
            self.kill(process)
        for thread in self._listening:
            thread.join()


class Server:
    """What the server's process holds."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process, self.url = process, url

    def gauge(self, name: str) -> float:
        lines = httpx.get(f"{self.url}/metrics", trust_env=False, timeout=60).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f"toolenvs_env_{name}"))

    def pss_mb(self) -> float:
        """Of the server alone."""
        with open(f"/proc/{self.process.pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processes(self) -> int:
        return sum(1 for _ in descendants(self.process.pid))

    def cpu_s(self) -> float:
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    yield child
                    yield from descendants(child)


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    command = [
        sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "env", "--port", "0", "--page", PAGE,
        "--allow", "tools.python.session", "--lease-s", str(LEASE_S), "--max-sessions", "4096",
        "--max-sessions-per-client", "4096",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process, process.stdout.readline().split()[-1])
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def settled(server: Server, before: tuple[int, int], within_s: float) -> dict[str, float]:
    """What is left over when the leases have run out."""
    end_s = time.monotonic() + within_s
    while True:
        left = {
            "sessions": server.gauge("sessions "),
            "running": server.gauge("running "),
            "sockets": server.gauge("sockets "),
            "processes": server.processes() - before[0],
            "descriptors": server.descriptors() - before[1],
        }
        if not leaked(left) or time.monotonic() > end_s:
            return left
        time.sleep(0.5)


def at_rest(server: Server) -> tuple[int, int]:
    """Processes and descriptors, once killed interpreters are gone: they have been the same for five seconds."""
    held, since_s = (-1, -1), time.monotonic()
    while time.monotonic() - since_s < 5.0:
        now = server.processes(), server.descriptors()
        if now != held:
            held, since_s = now, time.monotonic()
        time.sleep(0.5)
    return held


def leaked(left: dict[str, float]) -> list[str]:
    """What of it should not be there."""
    may = {"processes": READY, "descriptors": DESCRIPTORS * max(left["processes"], 0) + 2}
    return [f"{value:g} {name} are left over" for name, value in left.items() if value > may.get(name, 0)]


def warm_up(server: Server, options: argparse.Namespace) -> None:
    """As many sessions as there will be, once: pools and free lists have then their size."""
    clients = Clients(options, server.url)
    for _ in range(options.clients):
        clients.start()
    clients.wait(2 * options.episodes)
    clients.end()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    rng = random.Random(0)
    with serving() as server:
        warm_up(server, options)
        settled(server, (1 << 30, 1 << 30), 6 * LEASE_S)
        before = at_rest(server)
        print(f"warm: {before[0]} processes and {before[1]} descriptors of the server", file=sys.stderr)
        clients = Clients(options, server.url)
        for _ in range(options.clients):
            clients.start()
        clients.wait(options.episodes)
        clients.ms.clear()
        began_s, killed, memory_mb, cpu_before_s = time.monotonic(), 0, list[float](), server.cpu_s()
        most = 0.0
        while (passed_s := time.monotonic() - began_s) < options.seconds:
            time.sleep(1.0)
            memory_mb.append(server.pss_mb())
            most = max(most, server.gauge("sessions "))
            if passed_s // options.kill_every > killed:
                killed += 1
                clients.kill(rng.choice(clients.running))
                clients.start()
        cpu_s, expired = server.cpu_s() - cpu_before_s, server.gauge("sessions_expired")
        print(f"{len(clients.ms)} turns; all clients are killed now", file=sys.stderr)
        clients.end()
        left = settled(server, before, 6 * LEASE_S)
        ms, quarter = sorted(clients.ms), len(memory_mb) // 4
        wrong = {what: count for what, count in clients.counts.items() if what not in ("right", "episodes")}
        second, last = memory_mb[quarter : 2 * quarter], memory_mb[3 * quarter :]
        return {
            "seconds": options.seconds,
            "transport": options.transport,
            "episodes_at_one_time": most,
            "clients_killed": killed + options.clients,
            "episodes": clients.counts["episodes"],
            "turns": len(ms),
            "right": clients.counts["right"],
            "not_right": wrong,
            "turn_p50_ms": ms[len(ms) // 2],
            "turn_p99_ms": ms[len(ms) * 99 // 100],
            "server_cpu_ms_a_turn": 1e3 * cpu_s / max(len(ms), 1),
            "sessions_expired": expired,
            "memory_mb": {
                "second_quarter": round(statistics.median(second), 1),
                "last_quarter": round(statistics.median(last), 1),
            },
            "left_over": left,
        }


def faults(report: dict[str, Any]) -> list[str]:
    """What does not hold."""
    found = [f"{count} turns ended otherwise: {what}" for what, count in report["not_right"].items()]
    found += leaked(report["left_over"])
    memory = report["memory_mb"]
    if memory["last_quarter"] > 1.1 * memory["second_quarter"] + 8:
        found.append(f"memory grows: {memory}")
    if not report["right"]:
        found.append("no turn was right")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--kill-every", type=float, default=5.0)
    parser.add_argument("--transport", choices=["websocket", "http"], default="websocket")
    parser.add_argument("--session", choices=["stateless", "stateful"], default="stateful")
    parser.add_argument("--out", default="")
    parser.add_argument("--client", default="", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        asyncio.run(Client(options.client, options.number, options.episodes, options.transport, options.session).run())
        return
    report = measure(options)
    report["faults"] = faults(report)
    text = json.dumps(report, indent=2)
    print(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    sys.exit(bool(report["faults"]))


if __name__ == "__main__":
    main()
