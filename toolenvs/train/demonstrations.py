"""Where demonstrations of single tasks come from: a script that acts them out, or a file of transcripts.

source = open_demonstrations("scripted", env, run, seed=0)
source.of(tasks)                       # for each task the sequences of one right transcript, or none
"""

import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import read_rows, to_tokens
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, collect, read_trajectories
from toolenvs.tasks.task import Task
from toolenvs.train.batching import TokenSequence
from toolenvs.train.tiny import demonstrator
from toolenvs.train.trajectories import sequences_of, trainable

Run = Callable[[Coroutine[Any, Any, list[Trajectory]]], list[Trajectory]]
"""Waits for episodes, as `asyncio.Runner.run` does."""
SCRIPTED = "scripted"
_TRIES = 16
"""How often a fallible script may try a task; it fails one try in two, so that one task in 65,000 is left without."""


class Demonstrations(Protocol):
    """A source of right transcripts."""

    def of(self, tasks: Sequence[Task]) -> list[list[TokenSequence]]:
        """For each task the sequences of one right transcript; none where the source has none."""
        ...


class Scripted:
    """The script that demonstrates the environment's tasks, tried until it is right.

    Args:
        env: with a tokenizer, and one of the task sets that `toolenvs.train.tiny.demonstrator` knows.
        run: waits for its episodes.
        seed: of what it does; a task is demonstrated alike whenever it is asked for.
    """

    def __init__(self, env: Blueprint, run: Run, seed: int) -> None:
        self._env = env
        self._run = run
        self._seed = seed

    def of(self, tasks: Sequence[Task]) -> list[list[TokenSequence]]:
        """See `Demonstrations`."""
        found: dict[str, list[TokenSequence]] = {}
        for attempt in range(_TRIES):
            left = list({task.id: task for task in tasks if task.id not in found}.values())
            if not left:
                break
            script = demonstrator(self._env, self._seed * _TRIES + attempt)
            for episode in self._run(collect(self._env, script, left, seed=attempt)):
                if _right(episode):
                    found[episode.task] = sequences_of(episode, episode=0)
        return [found.get(task.id, []) for task in tasks]


class Recorded:
    """Transcripts of a .jsonl file: trajectories, or verified cold-start rows as `baselines/coldstart.py` writes.

    Of several right ones of a task, the first is taken. Cold-start rows are right by their making.

    Args:
        path: the file, or a folder of trajectories.
        env: with the tokenizer that rows are written in; trajectories keep their ids.

    Raises:
        ConfigError: there is no such file, or it holds no right transcript with tokens.
    """

    def __init__(self, path: str, env: Blueprint) -> None:
        self._found: dict[str, list[TokenSequence]] = {}
        if _holds_rows(Path(path)):
            if env.codec is None:
                raise ConfigError("cold-start rows need an environment that was built with a tokenizer")
            for row in read_rows(path):
                tokens = to_tokens(row, env.codec)
                self._found.setdefault(row.task.id, [TokenSequence.of(tokens.ids, tokens.mask)])
        else:
            for episode in read_trajectories(path):
                if _right(episode):
                    self._found.setdefault(episode.task, sequences_of(episode, episode=0))
        if not self._found:
            raise ConfigError(f"{path} holds no right transcript with tokens to demonstrate a task with")

    def of(self, tasks: Sequence[Task]) -> list[list[TokenSequence]]:
        """See `Demonstrations`."""
        return [self._found.get(task.id, []) for task in tasks]


def open_demonstrations(name: str, env: Blueprint, run: Run, *, seed: int) -> Demonstrations:
    """The source of that name: "scripted", or a file of transcripts."""
    return Scripted(env, run, seed) if name == SCRIPTED else Recorded(name, env)


def _right(episode: Trajectory) -> bool:
    return trainable(episode) and (episode.success or 0.0) >= 1


def _holds_rows(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open(encoding="utf-8") as lines:
        try:
            return "provenance" in json.loads(next(lines, "{}"))
        except (ValueError, TypeError):
            return False
