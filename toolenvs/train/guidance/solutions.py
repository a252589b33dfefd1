"""Solutions of tasks, which hints and prefixes are cut from.

A source is one of

    oracle            acted out by what the task carries, its program, queries or calls: `agents.scripted.Oracle`
    scripted          acted out by the script that demonstrates the tiny policies' tasks, until it is right
    extra:COLUMN      a column of the tasks' file, a text or a list of turns
    a file            lines of JSON: {"task": ID, "solution": TEXT} or {"task": ID, "turns": [TEXT, ...]};
                      or transcripts as `demonstrations` reads them, such as a run's own episodes (PrefixRL's way)

and what acts is believed only where the environment's judge calls it right.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from toolenvs.agents.scripted import Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, TaskError
from toolenvs.rollout import Trajectory, collect
from toolenvs.tasks.task import Task
from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence
from toolenvs.train.demonstrations import SCRIPTED, Demonstrations, open_demonstrations

if TYPE_CHECKING:
    from toolenvs.train.rollouts.base import Host

_ORACLE = "oracle"
_COLUMN = "extra:"


@dataclass(frozen=True, slots=True)
class Solution:
    """What a policy that solves a task writes, turn by turn."""

    turns: tuple[str, ...]

    @property
    def text(self) -> str:
        """All turns, each on lines of its own."""
        return "\n".join(turn.strip() for turn in self.turns)


class Solutions(Protocol):
    """Where solutions come from."""

    def of(self, tasks: Sequence[Task]) -> list[Solution | None]:
        """A solution of each task; None where none is known.

        Raises:
            ConfigError: the source does not fit these tasks.
        """
        ...


def open_solutions(source: str, run: "Host") -> Solutions:
    """The source of that name.

    Raises:
        ConfigError: there is no such file, it holds no solution, or a line of it is none.
    """
    if source == _ORACLE:
        return Acted(run)
    if source.startswith(_COLUMN):
        return Column(source.removeprefix(_COLUMN))
    if source != SCRIPTED and not Path(source).exists():
        raise ConfigError(f"solutions {source!r}: no such file; say a file, 'oracle', 'scripted' or 'extra:COLUMN'")
    if source != SCRIPTED and _holds_rows(Path(source)):
        return Known(read_solutions(source))
    return Demonstrated(open_demonstrations(source, run.env, run.runner.run, seed=run.settings.seed), run.env)


class Acted:
    """Solutions that the tasks carry themselves, acted out once each.

    Args:
        run: whose environment it is.
    """

    def __init__(self, run: "Host") -> None:
        self._run = run
        self._known: dict[str, Solution | None] = {}

    def of(self, tasks: Sequence[Task]) -> list[Solution | None]:
        """See `Solutions.of`."""
        new = list({task.id: task for task in tasks if task.id not in self._known}.values())
        for task, episode in zip(new, self._act(new), strict=True):
            turns = range(1, len(episode.turn_rewards) + 1)
            right = (episode.success or 0.0) >= 1
            self._known[task.id] = Solution(tuple(map(episode.transcript.policy_text, turns))) if right else None
        return [self._known[task.id] for task in tasks]

    def _act(self, tasks: list[Task]) -> list[Trajectory]:
        if not tasks:
            return []
        try:
            return self._run.runner.run(collect(self._run.env, Oracle(self._run.env), tasks))
        except ExceptionGroup as errors:
            if (group := errors.subgroup(TaskError)) is None:
                raise
            raise ConfigError(f"no solutions: {group.exceptions[0]}; name another source of `solutions`") from None


class Demonstrated:
    """Solutions out of demonstrations, which are kept in tokens.

    Args:
        source: of the demonstrations.
        env: with their tokenizer.
    """

    def __init__(self, source: Demonstrations, env: Blueprint) -> None:
        self._source = source
        self._env = env

    def of(self, tasks: Sequence[Task]) -> list[Solution | None]:
        """See `Solutions.of`."""
        return [self._solution(found) if found else None for found in self._source.of(tasks)]

    def _solution(self, sequences: Sequence[TokenSequence]) -> Solution:
        codec = self._env.codec
        assert codec is not None  # else there would be no tokens
        turns: dict[int, str] = {}
        for sequence in sequences:
            for turn in np.unique(sequence.turns[sequence.mask == Mask.POLICY]).tolist():
                text = codec.decode(sequence.ids[(sequence.mask == Mask.POLICY) & (sequence.turns == turn)].tolist())
                for ending in codec.special_texts:
                    text = text.removesuffix(ending)
                turns[turn] = text
        return Solution(tuple(turns[turn] for turn in sorted(turns)))


class Column:
    """Solutions that stand in the tasks' own file.

    Args:
        name: of the column.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def of(self, tasks: Sequence[Task]) -> list[Solution | None]:
        """See `Solutions.of`."""
        return [self._solution(task) for task in tasks]

    def _solution(self, task: Task) -> Solution | None:
        value = task.extra.get(self._name)
        if value is None:
            return None
        turns = [value] if isinstance(value, str) else value
        if not isinstance(turns, Sequence) or not all(isinstance(turn, str) for turn in turns):
            raise ConfigError(f"task {task.id!r}: extra[{self._name!r}] is no text and no list of texts")
        return Solution(tuple(turns))


class Known:
    """Solutions that are known beforehand.

    Args:
        solutions: by the tasks' ids.
    """

    def __init__(self, solutions: Mapping[str, Solution]) -> None:
        self._solutions = solutions

    def of(self, tasks: Sequence[Task]) -> list[Solution | None]:
        """See `Solutions.of`."""
        return [self._solutions.get(task.id) for task in tasks]


def read_solutions(path: str | Path) -> dict[str, Solution]:
    """The solutions in a file, by the tasks' ids; of several of one task the first.

    Raises:
        ConfigError: it holds none, or a line is no solution; the message names file and line.
    """
    file = Path(path)
    found: dict[str, Solution] = {}
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                task, solution = _read(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(f"{file.name}, line {number}: not a solution: {error!r}") from error
            found.setdefault(task, solution)
    if not found:
        raise ConfigError(f"{file.name} holds no solution of any task")
    return found


def _read(row: Any) -> tuple[str, Solution]:
    turns = row["turns"] if "turns" in row else [row["solution"]]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise TypeError("'solution' is a text, 'turns' a list of them")
    return str(row["task"]), Solution(tuple(turns))


def _holds_rows(path: Path) -> bool:
    """Whether it is a file of the form that is read here; another one is of transcripts."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8") as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        row = json.loads(first)
    except ValueError:
        return True  # which says what is wrong with it
    return not isinstance(row, dict) or not {"transcript", "provenance"} & row.keys()
