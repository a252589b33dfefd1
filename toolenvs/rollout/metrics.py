"""What a run measured, read back: one JSON object a line in `metrics.jsonl`, each with its `step`.

It stands below training, and so without torch: the viewer draws the curves of a run wherever its folder was copied to.
"""

import json
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError

FILE = "metrics.jsonl"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """All lines of a run's metrics; a last line that a crash cut short is left out.

    Raises:
        ConfigError: there is no such file, or a line before the last is damaged.
    """
    path = folder / FILE
    if not path.exists():
        raise ConfigError(f"no metrics in {folder}: {FILE} is missing")
    lines = path.read_text(encoding="utf-8").splitlines()
    read: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            read.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise ConfigError(f"{path}, line {number} is not JSON: {error}") from error
    return read
