"""Trajectories on disk: one line of JSON each, appended as episodes end; a crash loses only the running ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from toolenvs.errors import ConfigError, TranscriptError
from toolenvs.rollout.trajectory import Trajectory

_OTHERS = ("metrics.jsonl", "events.jsonl")


class TrajectoryWriter:
    """Appends trajectories to a file.

    Args:
        path: a .jsonl file; a torn last line of an earlier crash is cut off first.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _cut_torn_line(self._path)
        self._file = self._path.open("a", encoding="utf-8")

    def write(self, trajectory: Trajectory) -> None:
        """Append one, and hand it to the operating system at once."""
        self._file.write(json.dumps(trajectory.to_json(), ensure_ascii=True) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def trajectory_files(path: str | Path) -> list[Path]:
    """A file itself, or every .jsonl file below a folder but its metrics and events, in order."""
    root = Path(path)
    return sorted(file for file in root.rglob("*.jsonl") if file.name not in _OTHERS) if root.is_dir() else [root]


def read_trajectories(path: str | Path) -> Iterator[Trajectory]:
    """The trajectories of a file, or of every .jsonl file below a folder but its metrics and events, in order.

    A torn last line is left out.

    Raises:
        ConfigError: there is no such file, or a line in it is no trajectory; the message names file and line.
    """
    for file in trajectory_files(path):
        if not file.is_file():
            raise ConfigError(f"there are no trajectories at {file}")
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    yield Trajectory.from_json(json.loads(line))
                except (ValueError, KeyError, TypeError, RecursionError, TranscriptError) as error:
                    raise ConfigError(f"{file.name}, line {number}: not a trajectory: {error!r}") from error


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)
