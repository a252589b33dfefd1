"""A run's folder: what it may be gone on with, that nobody else writes to it, and what is read back from it."""

import fcntl
import json
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, number_of, read_trajectories

SETTING, TRAJECTORIES, SUMMARY, TABLE = "setting.json", "trajectories.jsonl", "summary.json", "table.md"


def begin(out: Path, setting: Mapping[str, Any], free: Collection[str]) -> Path:
    """Where the run's trajectories are, after its settings were written, or held against those that are there.

    Args:
        out: the folder, made if it is not there.
        setting: plain values that decide what the run does.
        free: keys of it that may differ where a run is gone on with.

    Raises:
        ConfigError: the folder holds a run with other settings, or cannot be used.
    """
    file, trajectories = out / SETTING, out / TRAJECTORIES
    try:
        out.mkdir(parents=True, exist_ok=True)
        earlier = json.loads(file.read_text("utf-8")) if file.exists() else None
        if file.exists() and not isinstance(earlier, dict):
            raise ValueError(f"{SETTING} holds no settings")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--out {out} cannot be used: {error}") from error
    if earlier is None and trajectories.exists():
        raise ConfigError(f"{out} holds {TRAJECTORIES} without {SETTING}, of another command: give another --out")
    plain = json.loads(json.dumps(setting))
    if earlier is not None:
        differs = [key for key in plain if key not in free and earlier.get(key) != plain[key]]
        if differs:
            key = differs[0]
            raise ConfigError(
                f"{out} holds a run with another {key} ({_shown(earlier.get(key))}, not {_shown(plain[key])}): "
                "give it the same settings to go on with it, or another --out"
            )
    write_json(file, plain)
    return trajectories


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def write_json(file: Path, values: Mapping[str, Any]) -> None:
    """Write a file whole or not at all."""
    write_text(file, json.dumps(values, indent=2) + "\n")


def write_text(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    aside = file.with_suffix(".new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(file)


class Alone(AbstractContextManager["Alone"]):
    """Keeps a second process from writing to the same run; the lock goes with the process, however it ends.

    Args:
        path: the run's trajectories.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ConfigError(
                f"{self._path.parent} is being written by another process: wait, or give another --out"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def page_of(trajectory: Trajectory) -> str:
    """The name of the page in its run, which its group begins with."""
    return trajectory.group.rpartition("/")[0]


def last_attempts(trajectories: list[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
    """The last attempt at each try, and those that infrastructure ended before it.

    A try that was ended by infrastructure to the last in one run and was made again in the next one counts once.
    """
    last: dict[tuple[str, int], Trajectory] = {}
    retried = []
    for trajectory in trajectories:
        key = (trajectory.group, number_of(trajectory))
        before = last.get(key)
        if before is None or before.failed:
            last[key] = trajectory
            if before is not None:
                retried.append(before)
        elif trajectory.failed:
            retried.append(trajectory)
    return [last[key] for key in sorted(last)], retried  # in whatever order they ended: draws of tasks depend on it


def read(folder: Path) -> tuple[dict[str, Any], dict[str, list[Trajectory]]]:
    """A run's settings, and the last attempt at each try by the page's name in the run.

    Raises:
        ConfigError: the folder holds no run of `toolenvs eval`.
    """
    try:
        setting = json.loads((folder / SETTING).read_text("utf-8"))
        names = [str(page["name"]) for page in setting["pages"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(f"{folder} holds no evaluation: give the --out of `toolenvs eval`") from None
    pages: dict[str, list[Trajectory]] = {name: [] for name in names}
    for trajectory in last_attempts(list(read_trajectories(folder / TRAJECTORIES)))[0]:
        pages.setdefault(page_of(trajectory), []).append(trajectory)
    return setting, pages
