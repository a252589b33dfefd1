"""Tasks made on demand: task `i` is a function of (generator, options, seed, split, i) and of nothing else."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Literal, get_args

from toolenvs import plugins
from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.seeding import Draws, stable_seed
from toolenvs.tasks.task import Task

Split = Literal["train", "validation", "test"]

_GENERATORS = "toolenvs.tasks.generators"
_MAX_SIZE = 10**18
_MAX_SEED = 2**128
_MAX_ATTEMPTS = 5_000
"""Draws for one task; one in ten is of the smallest split."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")

DEFAULT_SIZES: Mapping[str, int] = {"train": 10_000, "validation": 1_000, "test": 1_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a generator makes of its draws."""

    question: str
    answer: int | str | None
    """None where only what is done counts, and nothing that is said."""
    aliases: tuple[str, ...] = ()
    """Other answers that are accepted."""
    program: str = ""
    """A short Python program that prints the answer, where one can be had."""
    extra: Mapping[str, Any] = field(default_factory=dict)


def require_whole_number(value: object, what: str, low: int, high: int) -> None:
    """Refuse anything but an integer from `low` to `high`.

    Raises:
        TaskError: the message begins with `what`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise TaskError(f"{what} is {value!r}; give {low} to {high}, a whole number")


def split_of(question: str) -> Split:
    """The one split that a question may appear in, whatever the seed, the options or the generator.

    The text itself is hashed: 8 of 10 questions are for training, 1 for validation and 1 for the test. Splits are
    therefore disjoint by construction.
    """
    bucket = stable_seed(question) % 10
    return "test" if bucket == 0 else "validation" if bucket == 1 else "train"


class GeneratedTaskSet:
    """A `TaskSet` that holds no tasks: each is made when it is asked for. Copies and pickles hold its options only."""

    def __init__(
        self,
        generator: str,
        *,
        split: str,
        seed: int,
        size: int,
        make: Callable[..., Callable[[Draws], Problem]],
        options: Mapping[str, Any],
    ) -> None:
        self.name = f"{generator}/{split}/{seed}"
        self._generator = generator
        self._split = split
        self._seed = seed
        self._size = size
        self._options = dict(options)
        self._make = make(**options)

    def __reduce__(self) -> tuple[Any, ...]:  # by name: what a generator's `make` returns may be a closure
        again = partial(generate, split=self._split, seed=self._seed, size=self._size, **self._options)
        return again, (self._generator,)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> Task:
        position = operator.index(index)
        position += self._size if position < 0 else 0
        if not 0 <= position < self._size:
            raise IndexError(f"{self.name} has {self._size} tasks; there is none at {index}")
        problem = self._problem(position)
        return Task(
            id=f"{self.name}/{position}",
            question=problem.question,
            golds=() if problem.answer is None else (str(problem.answer), *problem.aliases),
            source=self._generator,
            extra=({"program": problem.program} if problem.program else {}) | dict(problem.extra),
        )

    def _problem(self, position: int) -> Problem:
        """The first draw that falls into the split.

        Raises:
            TaskError: none does: there are too few questions.
        """
        for attempt in range(_MAX_ATTEMPTS):
            problem = self._make(Draws(self._generator, self._seed, self._split, position, attempt))
            if split_of(problem.question) == self._split:
                return problem
        raise TaskError(
            f"{self.name}: of {_MAX_ATTEMPTS:,} draws none was a question of the split {self._split!r}: "
            "widen the options, or take another split"
        )

    def __iter__(self) -> Iterator[Task]:
        return (self[index] for index in range(self._size))

    def find(self, task_id: str) -> Task:
        """The task with that id.

        Raises:
            TaskError: no task has it.
        """
        index = task_id.removeprefix(f"{self.name}/")
        if task_id != index and _INDEX.fullmatch(index) and int(index) < self._size:
            return self[int(index)]
        raise TaskError(f"no task is called {task_id!r}; ids run from '{self.name}/0' to '{self.name}/{len(self) - 1}'")


def generator_names() -> list[str]:
    """The modules of `toolenvs.tasks.generators`, sorted."""
    return plugins.names(_GENERATORS, "make")


def generate(
    generator: str, *, split: str = "train", seed: int = 0, size: int | None = None, **options: Any
) -> GeneratedTaskSet:
    """The task set of the module `toolenvs.tasks.generators.<generator>`.

    Args:
        generator: the module's name.
        split: train, validation or test; no question is in two of them, whatever their seeds.
        seed: another seed gives other tasks.
        size: how many tasks; by default 10,000 for training, else 1,000.
        options: handed to the module's `make`.

    Raises:
        TaskError: the generator, the split, the size or an option is unknown or out of range.
    """
    if generator not in generator_names():
        raise TaskError(f"no generator is called {generator!r}; {did_you_mean(generator, generator_names())}")
    make = plugins.find(_GENERATORS, generator, "make", "generator")
    if split not in get_args(Split):
        raise TaskError(
            f"generator {generator!r}: no split is called {split!r}; {did_you_mean(split, get_args(Split))}"
        )
    known = signature(make).parameters
    for option in options:
        if option not in known:
            raise TaskError(f"generator {generator!r} has no option {option!r}; {did_you_mean(option, known)}")
    count = DEFAULT_SIZES[split] if size is None else size
    require_whole_number(count, f"generator {generator!r}: size", 1, _MAX_SIZE)
    require_whole_number(seed, f"generator {generator!r}: seed", -_MAX_SEED, _MAX_SEED)
    return GeneratedTaskSet(generator, split=split, seed=seed, size=count, make=make, options=options)
