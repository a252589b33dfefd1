"""Warnings of a run: its monitors look at each line of the metrics.

    <folder>/events.jsonl       {"step": 31, "monitor": "entropy", "event": "begins", "text": "The policy's ..."}

A warning is told when it begins, and noted when it ends; between the two it is not repeated.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.train.metrics import finite
from toolenvs.train.monitors import Look

FILE = "events.jsonl"
BEGINS, ENDS = "begins", "ends"


class Watch:
    """Appends to a run's events.

    Args:
        folder: of the run.
        monitors: by name.
        lines: of the metrics that a resumed run begins with; of the file that is left which was seen in them. They are
            not looked at anew, which takes a time that grows with the square of their number.

    Raises:
        ConfigError: the file is damaged.
    """

    def __init__(self, folder: Path, monitors: Mapping[str, Look], lines: Iterable[Mapping[str, Any]] = ()) -> None:
        self._monitors = monitors
        self._lines = list(lines)
        path = folder / FILE
        unfinished = path.with_suffix(".unfinished")
        events = [event for event in read_events(folder) if self._lines and event["step"] <= self._lines[-1]["step"]]
        state = {event["monitor"]: event["event"] for event in events}  # the newest one of each
        self._warned = {name for name, event in state.items() if event == BEGINS}
        unfinished.write_text("".join(map(_written, events)), encoding="utf-8")
        unfinished.replace(path)
        self._file = path.open("a", encoding="utf-8")

    def look(self, step: int, metrics: Mapping[str, float]) -> list[str]:
        """Look at a step's metrics; gives the warnings that begin with it."""
        events = self._look({"step": step, **finite(metrics)})
        for event in events:
            self._file.write(_written(event))
        self._file.flush()
        return [str(event["text"]) for event in events if event["event"] == BEGINS]

    def _look(self, line: Mapping[str, Any]) -> list[dict[str, Any]]:
        self._lines.append(line)
        events = []
        for name, look in self._monitors.items():
            text = look(self._lines)
            if (text is None) == (name not in self._warned):
                continue
            event = {"step": line["step"], "monitor": name, "event": ENDS if text is None else BEGINS}
            events.append(event if text is None else event | {"text": text})
            self._warned ^= {name}
        return events

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All events of a run, in order; none where it was not watched. A line that a crash cut short is left out.

    Raises:
        ConfigError: a line before the last is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise ConfigError(f"{path}, line {number} is not JSON: {error}") from error
    return events


def _written(event: Mapping[str, Any]) -> str:
    return json.dumps(event) + "\n"
