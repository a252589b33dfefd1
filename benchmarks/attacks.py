"""What hostile programs achieve, backend by backend: the catalogue of tests/sandbox/attacks, and a few more.

    sudo -E python benchmarks/attacks.py [--only NAME ...] [--json FILE] [--write]

Each backend runs in a disposable machine of its own (enclosure.py), as an ordinary user unless its column
says root, with secrets, another process and services to reach for. `--write` puts the table into docs/sandbox.md.
Needs root, for the disposable machines; Docker's column needs an engine that answers. Some 20 minutes for all.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import enclosure  # noqa: E402
from interpreters import KINDS, Kind, Worker, docker_obstacle, family, python_of  # noqa: E402

CATALOGUE = HERE.parent / "tests" / "sandbox" / "attacks"
FORGERIES = HERE.parent / "tests" / "sandbox" / "forgeries"
PAGE = HERE.parent / "docs" / "sandbox.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"
ENDLESS = {"17", "18", "19", "20", "21", "25", "26", "28", "75", "79", "81", "83", "85"}
SLOW = {"01", "02", "03", "04", "11", "12", "15", "74", "78", "82"}
"""They take many processes, much memory or disk, which takes long on a busy machine."""
ENDLESS_S, LIMIT_S, SLOW_S, LATE_S = 1.0, 12.0, 40.0, 5.0
MAX_CHARS = 1_000_000
MORE = {
    "N1_numpy_reads_host_file": """
import numpy as np
try:
    start = np.fromfile("@SECRET@", dtype=np.uint8).tolist()[:4]
except OSError:
    start = []
print("PWNED" if start == [72, 79, 83, 84] else "SAFE")
""",
    "N2_numpy_writes_host_file": """
import numpy as np
try:
    np.zeros(4).tofile("@PROOF@")
except OSError:
    print("refused")
""",
}


@dataclass(frozen=True)
class Column:
    """A backend, and who runs it."""

    name: str
    kind: Kind
    root: bool = False
    spare: int = 0
    """Processes that it may keep ready."""


def columns() -> list[Column]:
    """All backends that are attacked."""
    kinds = {kind.name: kind for kind in KINDS}
    found = []
    for tier in ("hardened", "namespace", "fork"):
        for root in (True,) if tier == "hardened" else (True, False):
            name = f"{tier}, {'root' if root else 'user'}"
            found.append(Column(name, kinds[f"toolenvs, {tier}, session"], root, spare=8))
    found.append(Column("docker", kinds["toolenvs, docker, session"], root=True, spare=8))
    hidden = Kind(**{**vars(kinds["GEM"]), "variant": "hidden"})
    peers = [kinds["python -c"], hidden, kinds["SkyRL-Gym"], kinds["smolagents"], kinds["Jupyter"]]
    return found + [Column(kind.name, kind) for kind in peers]


def programs() -> dict[str, str]:
    """Name -> program."""
    files = [*CATALOGUE.glob("*.py"), *FORGERIES.glob("*.py")]
    found = {path.stem: path.read_text() for path in files} | MORE
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def _order(name: str) -> tuple[bool, int, str]:
    number = name.partition("_")[0]
    return (not number.isdigit(), int(number) if number.isdigit() else 0, name)


def cells(text: str) -> list[tuple[bool, str]]:
    """Whether a fresh session begins, and the program, for each cell."""
    pieces = re.split(r"(?m)^(#--- .*)$", text)
    marks = ["#--- new session", *pieces[1::2]]
    return [(mark.strip() == "#--- new session", code) for mark, code in zip(marks, pieces[::2], strict=True)]


def judge(number: str, outcomes: list[dict[str, Any]]) -> tuple[str, str]:
    """What the answers say: "safe", "weak" or "through", and why."""
    *own, after = outcomes
    text = "\n".join(outcome["text"] for outcome in own)
    if "PWNED" in text or "HOST-SECRET-42" in text:
        return "through", "it reached what it was after"
    if "FORGED" in text:
        return "through", "it forged an answer"
    if number == "62" and own[0]["status"] == "ok":
        return "through", "a broken-off run passes for a finished one"
    if max(outcome["chars"] for outcome in own) > MAX_CHARS:
        return "through", "the output is not capped"
    if after["status"] != "ok" or "4" not in after["text"]:
        return "through", "the next session does not work"
    if number in ENDLESS and max(outcome["seconds"] for outcome in own) > ENDLESS_S + LATE_S:
        return "weak", f"stopped after {max(outcome['seconds'] for outcome in own):.0f} s instead of {ENDLESS_S:g} s"
    if "WEAK" in text:
        return "weak", "allowed, harmless by itself"
    return "safe", ""


class Attacked:
    """One backend in its disposable machine, and what is measured of it."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._user = 0 if column.root else enclosure.USER
        self.host = enclosure.Host(self._user)
        self._worker: Worker | None = None
        self._container = ""
        self._before = 0

    def _start(self) -> Worker:
        before = self._containers()
        worker = Worker(
            self._column.kind,
            accounting=False,
            folder=enclosure.folder_of_caller(self._user),
            user=self._user,
            group=self._user,
            extra_groups=[],
            preexec_fn=None if self._column.root else enclosure.bound,
            variables={"TENV_TOKEN": "hunter2"},
        )
        worker.ask("attack", variant=self._column.kind.variant, cells=[(True, "import numpy")], timeout_s=60.0)
        self._container = next(iter(self._containers() - before), "")
        time.sleep(0.5)
        self._before = self._count()
        return worker

    def _containers(self) -> set[str]:
        if not self._column.kind.docker:
            return set()
        command = ["docker", "ps", "-q", "--filter", "label=toolenvs.sandbox"]
        return set(subprocess.run(command, capture_output=True, text=True).stdout.split())

    def _count(self) -> int:
        """Processes of this machine, or of the container."""
        if self._container:
            done = subprocess.run(["docker", "top", self._container, "-o", "pid"], capture_output=True, text=True)
            return len(done.stdout.split()) - 1
        enclosure.reap()
        return len(enclosure.running())

    def run(self, name: str, program: str) -> tuple[str, str]:
        """Let a program loose; verdict and reason."""
        if self._worker is None:
            self._worker = self._start()
        worker, kind = self._worker, self._column.kind
        number = name.partition("_")[0]
        below = sorted(pid for pid, _ in family(worker.process.pid) if pid != worker.process.pid)
        text = self.host.fill_in(program, worker.process.pid, below[0] if below else worker.process.pid)
        limit_s = ENDLESS_S if number in ENDLESS else SLOW_S if number in SLOW else LIMIT_S
        try:
            outcomes = worker.ask("attack", limit_s + 40.0, variant=kind.variant, cells=cells(text), timeout_s=limit_s)
            verdict, why = judge(number, outcomes)
        except EOFError:
            verdict, why = "through", "the caller's process ended"
        except TimeoutError:
            verdict, why = "through", "the caller hangs"
        except RuntimeError as error:
            verdict, why = "through", f"the caller fails: {str(error)[:200]}"
        if verdict != "through":
            left = self._left()
            verdict, why = ("through", left) if left else (verdict, why)
        harmed = self.host.harmed()
        if harmed and verdict != "through":
            verdict, why = "through", harmed
        if verdict != "safe":
            self.end()
        return verdict, why

    def _left(self) -> str:
        """What the program has left running, or ""."""
        deadline_s = time.monotonic() + 3
        while (more := self._count() - self._before - self._column.spare) > 0 and time.monotonic() < deadline_s:
            time.sleep(0.1)
        if more > 0:
            return f"{more} process{'es' if more > 1 else ''} left running"
        busy_s = enclosure.busy_s(0.4)
        if busy_s > 0.1:  # cells may be on their way
            busy_s = enclosure.busy_s(0.4)
        return "left spinning" if busy_s > 0.1 else ""

    def end(self) -> None:
        """End the caller and whatever is left, so that the next program finds a clean machine."""
        if self._worker is not None:
            self._worker.finish(5.0)
            self._worker.forget()
            self._worker = None
            time.sleep(0.5)  # what cleans up after a caller may do so
        for pid in enclosure.running() - {os.getpid(), self.host.victim}:
            os.kill(pid, signal.SIGKILL)
        for folder in ("/tmp/leak_tenv", "/dev/shm/leak_tenv", "/var/tmp/leak_tenv", "/tmp/dsk", "/tmp/t"):
            Path(folder).unlink(missing_ok=True)
        time.sleep(0.2)
        enclosure.reap()


def attack(column: Column, only: list[str]) -> None:
    """Enter a disposable machine, let all programs loose on a backend, tell one result a line."""
    python = python_of(column.kind)
    sites = {os.path.realpath(sysconfig.get_path("purelib"))} if python == Path(sys.executable) else set()
    site = Path(sites.pop()) if sites else next(python.parent.parent.glob("lib/python*/site-packages"))
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    enclosure.enter(None if column.root else site, engine if column.kind.docker else "")
    attacked = Attacked(column)
    for name, program in programs().items():
        if (name in FORGED and column.kind.file != "ours") or (only and name.partition("_")[0] not in only):
            continue
        verdict, why = attacked.run(name, program)
        print(json.dumps([name, verdict, why]), flush=True)
    attacked.end()


FORGED = {path.stem for path in FORGERIES.glob("*.py")}


def markdown(results: dict[str, dict[str, tuple[str, str]]], notes: list[str]) -> str:
    """The counts, the table, the reasons."""
    names = list(results)
    signs = {"safe": "·", "weak": "weak", "through": "**through**"}
    lines = ["| | safe | weak | through |", "|---|---|---|---|"]
    for name in names:
        verdicts = [verdict for verdict, _ in results[name].values()]
        lines.append(f"| {name} | " + " | ".join(str(verdicts.count(verdict)) for verdict in signs) + " |")
    lines += ["", "| program | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for program in programs():
        if any(program in results[name] for name in names):
            signed = (signs[results[name][program][0]] if program in results[name] else "" for name in names)
            lines.append(f"| {program.replace('_', ' ')} | " + " | ".join(signed) + " |")
    lines += ["", "What came through, and how:", ""]
    for name in names:
        reasons: dict[str, list[str]] = {}
        for program, (verdict, why) in results[name].items():
            if verdict != "safe":
                reasons.setdefault(why, []).append(program.partition("_")[0])
        text = "; ".join(f"{why} ({', '.join(numbers)})" for why, numbers in reasons.items())
        lines.append(f"- {name}: {text or 'nothing'}")
    return "\n".join([*lines, *(f"- {note}" for note in notes)]) + "\n"


def main() -> None:
    """Attack all, or as one backend's process attack that one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of columns")
    parser.add_argument("--programs", nargs="+", default=[], help="numbers of programs")
    parser.add_argument("--json", type=Path, help="keep results here; what is not attacked now stays as it is")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--column", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("the disposable machines need root")
    if arguments.column:
        attack(next(column for column in columns() if column.name == arguments.column), arguments.programs)
        return
    obstacle = docker_obstacle()
    notes = []
    kept = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.is_file() else {}
    for column in columns():
        if arguments.only and column.name not in arguments.only:
            continue
        if column.kind.docker and obstacle:
            notes.append(f"{column.name}: not attacked: {obstacle}")
            continue
        python_of(column.kind)
        command = [sys.executable, str(Path(__file__).resolve()), "--column", column.name]
        command += ["--programs", *arguments.programs] if arguments.programs else []
        results: dict[str, tuple[str, str]] = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                program, *rest = json.loads(line)
                results[program] = (rest[0], rest[1])
                print(f"{column.name:16} {program:36} {rest[0]:8} {rest[1]}", file=sys.stderr)
        if process.returncode:
            notes.append(f"{column.name}: the attack itself broke off with {process.returncode}")
        kept[column.name] = {**kept.get(column.name, {}), **results} if arguments.programs else results
        if arguments.json:
            arguments.json.write_text(json.dumps(kept, indent=1) + "\n")
    order = {column.name: kept[column.name] for column in columns() if column.name in kept}
    text = f"Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}.\n\n" + markdown(
        order, notes
    )
    if arguments.write:
        page = PAGE.read_text()
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}")
    else:
        print(text)


if __name__ == "__main__":
    main()
