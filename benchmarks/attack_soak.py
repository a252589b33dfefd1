"""The whole attack catalogue beside honest work, round after round: is anything left, and is the honest work right?

    python benchmarks/attack_soak.py [--rounds 10] [--tier hardened] [--seed 0] [--only 01,19] [--out attack_soak.json]

Eight honest callers keep a session each, and also ask for fresh interpreters; meanwhile every program of
tests/sandbox/attacks runs once a round, four at a time, in an order of its own in each round. At the end there must be
no process, file, mount, control group, socket or shared memory that was not there before, and every honest result must
be right. The exit code is 0 when that holds.
"""

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from leftovers import settle, snapshot

from toolenvs.sandbox.local import LocalBox

ATTACKS = Path(__file__).resolve().parents[1] / "tests" / "sandbox" / "attacks"
_AT_ONCE = 4
_LIMIT_S = 3.0
_BY_DESIGN = ("68", "69")  # a program may lie about its own run


def cells(path: Path) -> list[tuple[bool, str]]:
    """Whether a fresh session begins, and the program, for each cell of an attack."""
    text = re.sub(r"@(PORT|VICTIM|HOSTPID|ZYGPID)@", "1", path.read_text(encoding="utf-8"))
    text = re.sub(r"@(SOCK|SECRET|SECRETW|PROOF)@", "/etc/hostname", text)
    pieces = re.split(r"(?m)^(#--- .*)$", text)
    marks = zip(pieces[1::2], pieces[2::2], strict=True)
    return [(True, pieces[0]), *((mark.strip() == "#--- new session", program) for mark, program in marks)]


async def attack(box: LocalBox, path: Path, places: asyncio.Semaphore, seen: Counter[str]) -> list[str]:
    """Run one program in sessions of its own; what came through."""
    found = []
    async with places:
        session = await box.asession()
        for fresh, program in cells(path):
            if fresh:
                await session.aclose()
                session = await box.asession()
            result = await session.arun(program, timeout_s=_LIMIT_S)
            seen[result.status] += 1
            if path.stem.partition("_")[0] not in _BY_DESIGN and "PWNED" in result.stdout + result.stderr:
                found.append(f"{path.stem}: {result.stdout[:200]}")
        await session.aclose()
    return found


class Honest:
    """Callers whose results are known."""

    def __init__(self, box: LocalBox) -> None:
        self.box = box
        self.wrong: list[str] = []
        self.right = 0
        self.ending = False

    async def work(self, number: int) -> None:
        count = 0
        async with await self.box.asession() as session:
            while not self.ending:
                count += 1
                result = await session.arun(f"n = {'n + 1' if count > 1 else '1'}\nn", timeout_s=120)
                self._check(result, result.value, str(count))
                result = await self.box.arun(f"print({number} * 1000 + {count})", timeout_s=120)
                self._check(result, result.stdout, f"{number * 1000 + count}\n")
                await asyncio.sleep(0.02)

    def _check(self, result: Any, got: str | None, expected: str) -> None:
        if result.status == "ok" and got == expected:
            self.right += 1
        else:
            self.wrong.append(f"expected {expected!r}: {result}")


async def rounds(box: LocalBox, paths: list[Path], count: int, dice: random.Random) -> dict[str, Any]:
    honest = Honest(box)
    callers = [asyncio.create_task(honest.work(number)) for number in range(8)]
    through: list[str] = []
    seen: Counter[str] = Counter()
    places = asyncio.Semaphore(_AT_ONCE)
    for _ in range(count):
        order = dice.sample(paths, len(paths))
        for found in await asyncio.gather(*[attack(box, path, places, seen) for path in order]):
            through += found
    honest.ending = True
    await asyncio.gather(*callers)
    return {
        "programs": len(paths),
        "rounds": count,
        "statuses of attacks": dict(seen),
        "came through": through,
        "honest results right": honest.right,
        "honest results wrong": honest.wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tier")
    parser.add_argument("--only", default="", help="numbers of attacks, with commas")
    parser.add_argument("--out")
    options = parser.parse_args()
    wanted = set(filter(None, options.only.split(",")))
    paths = [path for path in sorted(ATTACKS.glob("*.py")) if not wanted or path.stem.partition("_")[0] in wanted]
    with LocalBox(tier=options.tier) as warm:  # what Python itself opens once is not the sandbox's
        warm.run("1")
    before = snapshot()
    started_s = time.monotonic()
    with LocalBox(tier=options.tier) as box:
        report = {"tier": box.tier, "seed": options.seed}
        report |= asyncio.run(rounds(box, paths, options.rounds, random.Random(options.seed)))
    report |= {"left": settle(before), "seconds": round(time.monotonic() - started_s)}
    report["holds"] = not (report["came through"] or report["honest results wrong"] or report["left"])
    print(json.dumps(report, indent=1))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
