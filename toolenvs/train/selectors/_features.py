"""What a task is like, as a vector: a column of its file, or what stands in for it.

DOTS compares questions by the embeddings of a model (there Qwen2.5-Math-1.5B-Instruct, and three layers on top that
were trained on rollouts of other policies). Where every task carries a list of numbers in the column `embedding`, that
is taken. Else the question's text is: its words, pairs of neighbouring words and length, hashed, and weighted by how
rare they are in the set. A number counts as a word that tells its digits only, since how large the numbers are says
more of how hard a sum is than which ones they are.
"""

import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolenvs.errors import ConfigError
from toolenvs.tasks.task import Task

COLUMN = "embedding"
DIMENSIONS = 512
_WORD = re.compile(r"\d+|[^\W\d_]+|[^\w\s]|_")
_MAX_WORDS = 2048
"""Of a question; what is behind them is not compared."""


def features(tasks: Sequence[Task]) -> NDArray[np.float32]:
    """A vector for each task, of length 1 or 0. # [N, D]

    Raises:
        ConfigError: some tasks carry an embedding and others none, or they are no vectors of one length.
    """
    embedded = [task.extra.get(COLUMN) for task in tasks]
    if any(vector is not None for vector in embedded):
        return _of_length_one(_embeddings(tasks, embedded))
    return _of_length_one(_texts([task.question for task in tasks]))


def terms(question: str) -> Counter[str]:
    """How often each word, each pair of neighbours, and the length are in a question."""
    words = [f"#{len(word)}" if word.isdigit() else word.lower() for word in _WORD.findall(question)[:_MAX_WORDS]]
    pairs = [f"{first} {second}" for first, second in itertools.pairwise(words)]
    return Counter([*words, *pairs, f"length {len(words).bit_length()}"])


def _embeddings(tasks: Sequence[Task], embedded: Sequence[Any]) -> NDArray[np.float32]:
    for task, vector in zip(tasks, embedded, strict=True):
        if vector is None:
            raise ConfigError(f"task {task.id!r} has no column {COLUMN!r}, and others have: give it to all or none")
    try:
        made = np.array(embedded, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the column {COLUMN!r} holds no vectors of one length: {error}") from error
    if made.ndim != 2 or not np.isfinite(made).all():
        raise ConfigError(f"the column {COLUMN!r} must hold one list of finite numbers for each task")
    return made


def _texts(questions: Sequence[str]) -> NDArray[np.float32]:
    counted = [terms(question) for question in questions]
    spread = Counter(term for counts in counted for term in counts)
    columns = {term: zlib.crc32(term.encode()) % DIMENSIONS for term in spread}
    rare = {term: math.log(1 + len(questions) / count) for term, count in spread.items()}
    made = np.zeros((len(questions), DIMENSIONS), dtype=np.float32)
    for row, counts in zip(made, counted, strict=True):
        for term, count in counts.items():
            row[columns[term]] += math.sqrt(count) * rare[term]
    return made


def _of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
