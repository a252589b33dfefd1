"""Kill the local sandbox's own processes at random moments, under load.

    python benchmarks/chaos.py [--tries 50] [--seed 0] [--tier hardened] [--out chaos.json]

Eight sessions and four stateless callers work without a pause. In each try one process of the sandbox gets SIGKILL: a
fork server (its outer or its inner process), a cell that stands ready, or a cell at work. Every call must then end with
the right answer or with a SandboxError, and once more all callers must get right answers; a session whose state went
must say so. At the end nothing may be left. The exit code is 0 when all of that held.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from leftovers import descendants, settle, snapshot

from toolenvs.errors import SandboxError
from toolenvs.sandbox.local import LocalBox, LocalSession

_CALL_S = 0.02


class Load:
    """Callers, what went wrong with them, and how far each has come."""

    def __init__(self, box: LocalBox) -> None:
        self.box = box
        self.wrong: list[str] = []
        self.failed: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.ending = False

    async def session(self, name: str) -> None:
        """Count in a live interpreter; after a failure or a loss of state, count again from 0."""
        session: LocalSession = await self.box.asession()
        expected = told = 0
        while not self.ending:
            code = f"try: n += 1\nexcept NameError: n = 1\nimport time; time.sleep({_CALL_S}); n"
            try:
                result = await session.arun(code, timeout_s=60)
            except SandboxError:
                self.failed[name] += 1
                told = 1
                continue
            if result.state_lost or told:
                if not result.state_lost and result.value != str(expected + 1):
                    self.wrong.append(f"{name}: a loss of state was not told: {result}")
                expected = 0 if result.state_lost else expected
                told = 0
            expected += 1
            if (result.status, result.value) != ("ok", str(expected)):
                self.wrong.append(f"{name}: expected {expected}, got {result}")
                expected = int(result.value or 0)
            self.done[name] += 1
        await session.aclose()

    async def stateless(self, name: str) -> None:
        """Fresh interpreters, one after the other."""
        number = 0
        while not self.ending:
            number += 1
            code = f"import time; time.sleep({_CALL_S}); print({number})" + (
                "\nimport numpy" if number % 3 == 0 else ""
            )
            try:
                result = await self.box.arun(code, timeout_s=60)
            except SandboxError:
                self.failed[name] += 1
                continue
            if (result.status, result.stdout) != ("ok", f"{number}\n"):
                self.wrong.append(f"{name}: {result}")
            self.done[name] += 1

    async def advance(self, calls: int, limit_s: float = 60.0) -> bool:
        """Wait until every caller has had so many more right answers; whether all had them in time."""
        wanted = {name: count + calls for name, count in self.done.items()}
        until_s = time.monotonic() + limit_s
        while any(self.done[name] < count for name, count in wanted.items()):
            if time.monotonic() > until_s:
                return False
            await asyncio.sleep(0.005)
        return True


def roles(box: LocalBox) -> dict[str, list[int]]:
    """The sandbox's processes by what they are."""
    outer = box.server_pids
    found: dict[str, list[int]] = {"fork server": list(outer), "first process": [], "cell": []}
    for pid in outer:
        for below in descendants(pid):
            parent = _parent(below)
            found["first process" if parent == pid else "cell"].append(below)
    return {role: pids for role, pids in found.items() if pids}


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


async def strike(box: LocalBox, load: Load, dice: random.Random) -> dict[str, Any]:
    """One try."""
    await asyncio.sleep(dice.random() * 4 * _CALL_S)
    choices = roles(box)
    # Cells at work outnumber servers: a role first, then one of its processes.
    role = dice.choice(sorted(choices))
    pid = dice.choice(sorted(choices[role]))
    failed = sum(load.failed.values())
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        role = "gone"
    went_on = await load.advance(2)
    return {"role": role, "calls failed": sum(load.failed.values()) - failed, "all went on": went_on}


async def attack(box: LocalBox, tries: int, dice: random.Random) -> dict[str, Any]:
    load = Load(box)
    callers = [load.session(f"session {n}") for n in range(8)] + [load.stateless(f"stateless {n}") for n in range(4)]
    tasks = [asyncio.create_task(caller) for caller in callers]
    for kind, count in (("session", 8), ("stateless", 4)):
        load.done.update({f"{kind} {n}": 0 for n in range(count)})
    await load.advance(3)
    struck = [await strike(box, load, dice) for _ in range(tries)]
    load.ending = True
    finished, hung = await asyncio.wait(tasks, timeout=90)
    for task in finished:
        if task.exception() is not None:
            load.wrong.append(repr(task.exception()))
    for task in hung:
        task.cancel()
    return {
        "tries": struck,
        "killed": dict(Counter(item["role"] for item in struck)),
        "calls that ended well": sum(load.done.values()),
        "calls that ended as infrastructure": sum(load.failed.values()),
        "wrong": load.wrong,
        "hung": len(hung),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tier")
    parser.add_argument("--out")
    options = parser.parse_args()
    with LocalBox(tier=options.tier) as warm:  # what Python itself opens once is not the sandbox's
        warm.run("1")
    asyncio.run(asyncio.sleep(0))
    before = snapshot()
    with LocalBox(tier=options.tier) as box:
        report = {"tier": box.tier, "seed": options.seed}
        report |= asyncio.run(attack(box, options.tries, random.Random(options.seed)))
    report["left"] = settle(before)
    report["holds"] = not (
        report["wrong"] or report["hung"] or report["left"] or not all(item["all went on"] for item in report["tries"])
    )
    print(json.dumps({key: value for key, value in report.items() if key != "tries"}, indent=1))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
