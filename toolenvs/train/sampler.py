"""Which tasks come next: a fresh shuffle of all of them in every epoch, from a seed and a position alone."""

from toolenvs.train.streams import generator


class TaskSampler:
    """Goes through the indices of a task set, each once an epoch.

    Args:
        size: tasks in the set.
        seed: of the order.
        position: indices already taken; a resumed run gives the checkpoint's.
    """

    def __init__(self, size: int, seed: int, position: int = 0) -> None:
        self._size = size
        self._seed = seed
        self.position = position
        self._epoch = -1
        self._order: list[int] = []

    def take(self, count: int) -> list[int]:
        """The next `count` indices."""
        taken = [self._at(place) for place in range(self.position, self.position + count)]
        self.position += count
        return taken

    def _at(self, place: int) -> int:
        epoch, offset = divmod(place, self._size)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = generator("tasks", self._seed, epoch).permutation(self._size).tolist()
        return self._order[offset]
