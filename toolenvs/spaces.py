"""`Unicode`: the space of every string up to a length, which Gymnasium's `Text` cannot hold.

`Text` keeps its character set in tables; for all of Unicode they would cost a hundred megabytes. `Unicode` answers the
same questions by arithmetic on code points, and registers its own shared-memory layout, so that a long observation
crosses to an `AsyncVectorEnv` as one memory copy.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Text
from gymnasium.spaces.utils import flatten, unflatten
from gymnasium.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray

CODE_POINTS = 0x110000
_SAMPLE_LENGTH = 256
# Ranges that samples draw from: ASCII (twice as likely), Latin and Greek, Arabic, Devanagari, CJK, Hangul, emoji.
_SAMPLE_RANGES = np.array(
    [
        (0x20, 0x7F),
        (0x0A, 0x7F),
        (0xA0, 0x400),
        (0x620, 0x64B),
        (0x904, 0x93A),
        (0x4E00, 0x9FA6),
        (0xAC00, 0xD7A4),
        (0x1F300, 0x1F650),
    ]
)


class _EveryCharacter(Sequence[str]):
    """All code points in order, as the sequence and the set that `Text` would have stored."""

    def __len__(self) -> int:
        return CODE_POINTS

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(map(chr, range(CODE_POINTS)[index]))
        return chr(range(CODE_POINTS)[index])

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and len(value) == 1

    def __iter__(self) -> Iterator[str]:
        return map(chr, range(CODE_POINTS))


_EVERY_CHARACTER = _EveryCharacter()


class Unicode(Text):
    """Every `str` of at most `max_length` code points: any script, any emoji, lone surrogates, and "".

    Args:
        max_length: greatest length in code points.
        min_length: least length in code points.
        seed: seed of the samples.
    """

    def __init__(self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=min_length, charset="a", seed=seed)
        del self._char_set, self._char_list, self._char_index, self._char_str  # only the base class used them

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random string of up to 256 characters of several scripts; the same seed gives the same strings.

        Args:
            mask: `(length, None)` fixes the length; `(length, array)` also restricts the code points.
            probability: `(length, array)` weighs the code points.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = self.np_random.integers(self.min_length, self._sample_limit + 1)
        low, high = _SAMPLE_RANGES[self.np_random.integers(len(_SAMPLE_RANGES), size=length)].T
        return _text(self.np_random.integers(low, high).astype(np.int32))

    @property
    def _sample_limit(self) -> int:
        return min(self.max_length, self.min_length + _SAMPLE_LENGTH)

    def contains(self, x: Any) -> bool:
        """True for any `str` within the lengths."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"Unicode({self.max_length}, min_length={self.min_length})"

    def __eq__(self, other: object, /) -> bool:
        return (
            isinstance(other, Unicode) and self.max_length == other.max_length and self.min_length == other.min_length
        )

    __hash__ = None  # type: ignore[assignment]  # as every Gymnasium space

    @property
    def character_set(self) -> Any:
        """Every character; a virtual set."""
        return _EVERY_CHARACTER

    @property
    def character_list(self) -> Any:
        """Every character in order of code point; a virtual sequence."""
        return _EVERY_CHARACTER

    @property
    def characters(self) -> str:
        """Every character as one string (4 MB, built at each call)."""
        return "".join(_EVERY_CHARACTER)

    def character_index(self, char: str) -> np.int32:
        """The code point."""
        return np.int32(ord(char))


def _codes(text: str) -> NDArray[np.int32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<i4")


def _text(codes: NDArray[np.int32]) -> str:
    return codes.astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


@flatten.register(Unicode)
def _flatten(space: Unicode, x: str) -> NDArray[np.int32]:  # type: ignore[misc]
    codes = np.full(space.max_length, CODE_POINTS, dtype=np.int32)
    codes[: len(x)] = _codes(x)
    return codes


@unflatten.register(Unicode)
def _unflatten(space: Unicode, x: NDArray[np.int32]) -> str:  # type: ignore[misc]
    return _text(x[x < CODE_POINTS])


# Shared memory: one row an environment, its length first and then its code points.


@create_shared_memory.register(Unicode)
def _create(space: Unicode, n: int = 1, ctx: ModuleType = multiprocessing) -> Any:
    return ctx.Array("i", n * (space.max_length + 1))


@read_from_shared_memory.register(Unicode)
def _read(space: Unicode, shared_memory: Any, n: int = 1) -> "_SharedTexts":
    return _SharedTexts(_rows(space, shared_memory))


@write_to_shared_memory.register(Unicode)
def _write(space: Unicode, index: int, values: str, shared_memory: Any) -> None:
    row = _rows(space, shared_memory)[index]
    row[0] = len(values)
    row[1 : len(values) + 1] = _codes(values)


def _rows(space: Unicode, shared_memory: Any) -> NDArray[np.int32]:
    return np.frombuffer(shared_memory.get_obj(), dtype=np.int32).reshape(-1, space.max_length + 1)


class _SharedTexts(tuple[str, ...]):
    """A live view of the texts in shared memory; a deep copy of it is a plain tuple of what they are now.

    `AsyncVectorEnv` reads its buffer once, when it is built, and expects a view. Gymnasium's own reader of `Text` gives
    the strings of that moment, which stay what they were for ever.
    """

    _rows: NDArray[np.int32]

    def __new__(cls, rows: NDArray[np.int32]) -> "_SharedTexts":
        view = super().__new__(cls, ("",) * len(rows))
        view._rows = rows
        return view

    def _text(self, row: NDArray[np.int32]) -> str:
        return _text(row[1 : row[0] + 1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(self._text, self._rows[index]))
        return self._text(self._rows[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._text, self._rows)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)
