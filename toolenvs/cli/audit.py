"""`toolenvs audit`: what a policy could cheat an environment by."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from toolenvs.audit import Finding, Report
from toolenvs.audit import audit as run_audit
from toolenvs.audit.run import TASKS
from toolenvs.cli.options import Overrides, PageId, overrides
from toolenvs.errors import ConfigError

_STYLES = {"fault": "bold red", "note": "yellow", "ok": "green"}


def audit(
    page: PageId,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks that are tried, the first ones of the set.")] = TASKS,
    probe: Annotated[list[str], typer.Option(help="Run this probe alone; may be given again.")] = [],  # noqa: B006
    set_: Overrides = [],  # noqa: B006 - typer copies it
    json_: Annotated[Path | None, typer.Option("--json", help="Write the findings to this file.")] = None,
) -> None:
    """Try to cheat an environment, and tell what comes through. The exit code is 1 where there is a fault.

    Answers that need no question, forged observations, markers in tools' texts, budgets that do not bind, episodes that
    differ, rewards that do not add up, and tasks of one split in another.
    """
    if json_ is not None and not os.access(json_.parent, os.W_OK):
        raise ConfigError(f"--json {json_}: its folder cannot be written to; give another file")
    report = run_audit(page, tasks=tasks, only=probe, **overrides(set_))
    if json_ is not None:
        json_.write_text(json.dumps(asdict(report), indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    console = Console(highlight=False)
    for finding in report.findings:
        for line in _lines(finding):
            console.print(line, soft_wrap=True)
    console.print(_summary(report))
    if report.faults:
        raise typer.Exit(1)


def _lines(finding: Finding) -> list[Text]:
    if finding.level == "ok":
        return [Text.assemble(("ok   ", _STYLES["ok"]), " ", (finding.name, "bold"), f"  not found: {finding.what}")]
    times = f" ({finding.times} times)" if finding.times > 1 else ""
    head = Text.assemble((f"{finding.level:5}", _STYLES[finding.level]), " ", (finding.name, "bold"))
    head.append(f"  {_printable(finding.what)}{times}")
    told = {"task": "" if finding.task is None else str(finding.task), "wrote": finding.action, "got": finding.got}
    if finding.level == "fault":
        told["do"] = finding.remedy
    return [head, *(Text(f"      {name}: {_printable(text)}", "dim") for name, text in told.items() if text)]


def _printable(text: str) -> str:
    """Without what a terminal would obey, and without half a surrogate pair, which it cannot show."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _summary(report: Report) -> str:
    levels = [finding.level for finding in report.findings]
    counts = [_counted(levels.count("fault"), "fault"), _counted(levels.count("note"), "note")]
    return f"{report.page}, {_counted(report.tasks, 'task')}: {', '.join(counts)}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
