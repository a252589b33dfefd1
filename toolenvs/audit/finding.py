"""What a probe reports."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["fault", "note", "ok"]
_SHOWN_CHARS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a probe tried, and what came of it."""

    level: Level
    """"fault": whoever trains on the page will meet it; "note": worth knowing; "ok": nothing came through."""
    name: str
    """Probe and what was tried, such as "answers.empty"; the key of `[audit.known]`."""
    what: str
    """What came through, in one sentence."""
    task: int | None = None
    """Index of the task; None where it is not about one."""
    action: str = ""
    """What was written, shortened."""
    got: str = ""
    """What came back, shortened."""
    remedy: str = ""
    """What to do."""
    times: int = 1
    """How often the same was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """An audit of one page."""

    page: str
    tasks: int
    """How many tasks were tried."""
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that speak against the page."""
        return tuple(finding for finding in self.findings if finding.level == "fault")


def shown(text: object) -> str:
    """`text` on one line, its middle left out where it is long."""
    line = text if isinstance(text, str) else repr(text)
    line = line.replace("\n", "\\n")
    half = _SHOWN_CHARS // 2
    return line if len(line) <= _SHOWN_CHARS else f"{line[:half]} ... ({len(line)} characters) ... {line[-half:]}"


def fault(name: str, what: str, *, task: int | None = None, action: object = "", got: object = "") -> Finding:
    """A fault."""
    return Finding(level="fault", name=name, what=what, task=task, action=shown(action), got=shown(got))


def note(name: str, what: str, *, task: int | None = None, action: object = "", got: object = "") -> Finding:
    """A note."""
    return Finding(level="note", name=name, what=what, task=task, action=shown(action), got=shown(got))
