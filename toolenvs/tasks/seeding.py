"""Draws that are the same on every machine, Python version and hash seed."""

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SEEDS = 2**31
"""Seeds that an environment of somebody's may be given: from 0 up to this."""
_BLOCK_BYTES = 64
_SPARE_BITS = 64
"""Drawn beyond what a range needs, so that the bias of the remainder is below 2**-64."""


def stable_seed(*key: str | int) -> int:
    """A 64-bit integer that depends on `key` alone; unlike `hash`, it is equal in every process."""
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:8], "big")


class Draws:
    """An endless stream of independent draws, fixed by its key.

    The bits come from BLAKE2b in counter mode. `random.Random` and `numpy.random.Generator` promise less: only their
    raw streams are stable across versions, not how integers are made from them.

        draws = Draws("arithmetic", 7, "train", 12)
        draws.between(10, 99)
    """

    def __init__(self, *key: str | int) -> None:
        self._key = hashlib.sha256(json.dumps(key).encode()).digest()
        self._counter = 0
        self._pool = 0
        self._pool_bits = 0

    def _bits(self, count: int) -> int:
        while self._pool_bits < count:
            block = hashlib.blake2b(self._counter.to_bytes(8, "big"), key=self._key, digest_size=_BLOCK_BYTES).digest()
            self._counter += 1
            self._pool = (self._pool << (8 * _BLOCK_BYTES)) | int.from_bytes(block, "big")
            self._pool_bits += 8 * _BLOCK_BYTES
        self._pool_bits -= count
        drawn = self._pool >> self._pool_bits
        self._pool &= (1 << self._pool_bits) - 1
        return drawn

    def below(self, n: int) -> int:
        """A uniform integer of 0 .. n-1; `n` may be of any size, but at least 1."""
        return self._bits(n.bit_length() + _SPARE_BITS) % n

    def between(self, low: int, high: int) -> int:
        """A uniform integer of low .. high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        """One of `options`, each equally likely."""
        return options[self.below(len(options))]

    def sample(self, options: Sequence[T], k: int) -> list[T]:
        """`k` of `options` in random order, no position twice."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(k)]
