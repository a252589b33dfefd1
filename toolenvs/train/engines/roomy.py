"""A cache layer of transformers with room to grow: a new token's keys and values are written, and nothing is copied.

Shapes: B rows, H heads, T tokens, R tokens that there is room for, W head width.

transformers' own joins all keys and all values anew for each token, which took a quarter of the time of sampling from
a small model.
"""

from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

_ROOM = 32
"""Tokens that the first room is larger than what it is for; later ones are larger by half."""


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, [B, H, T, W]: the first T tokens of a room of R."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._rooms: tuple[Tensor, Tensor] | None = None  # [B, H, R, W] each

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """All keys and values, with new ones behind the others."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        old, new = self.get_seq_length(), key_states.shape[-2]
        if self._rooms is None or self._rooms[0].shape[-2] < old + new:
            size = old + new + max(_ROOM, old // 2)
            self._rooms = _with_room(self.keys, key_states, old, size), _with_room(self.values, value_states, old, size)
        keys, values = self._rooms
        keys[:, :, old : old + new] = key_states
        values[:, :, old : old + new] = value_states
        self.keys, self.values = keys[:, :, : old + new], values[:, :, : old + new]
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows, each as often as it is named."""
        if self._rooms is None:
            super().batch_select_indices(indices)
            return
        length = self.get_seq_length()
        keys, values = self._rooms = self._rooms[0][indices], self._rooms[1][indices]
        self.keys, self.values = keys[:, :, :length], values[:, :, :length]


def _with_room(known: Tensor | None, like: Tensor, length: int, size: int) -> Tensor:
    room = like.new_empty(*like.shape[:-2], size, like.shape[-1])
    if length and known is not None:
        room[:, :, :length] = known
    return room


def roomy_cache() -> DynamicCache:
    """An empty cache of such layers."""
    cache = DynamicCache()
    cache.layer_class_to_replicate = RoomyLayer
    return cache
