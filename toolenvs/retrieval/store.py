"""The texts of a corpus on disk, found by row number or by id."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from toolenvs.errors import ConfigError, RetrievalError
from toolenvs.retrieval.base import Hit
from toolenvs.retrieval.corpus import Passage
from toolenvs.retrieval.folder import building, manifest_of, mapped, mapped_bytes, seal, view

PART = "passages"
REMEDY = "build it with `toolenvs index CORPUS OUT`"


class Store:
    """The passages of an index folder, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fingerprint: str = manifest_of(folder, PART, REMEDY)["corpus"]
        """Of all ids, titles and texts in their order."""
        part = folder / PART
        self._texts, self._ids = mapped_bytes(part / "texts.bin"), mapped_bytes(part / "ids.bin")
        self._text_ends = view(mapped(part / "text_ends.npy"))
        self._id_ends = view(mapped(part / "id_ends.npy"))
        self.by_id: npt.NDArray[np.int32] = mapped(part / "by_id.npy")
        """[size] rows in the order of their ids."""
        self.rank: npt.NDArray[np.int32] = mapped(part / "rank.npy")
        """[size] each row's place in `by_id`: equal scores stand in this order."""

    def __len__(self) -> int:
        return len(self.by_id)

    def id(self, row: int) -> str:
        """The id of the passage in `row`."""
        return str(self._id(row), "utf-8")

    def passage(self, row: int) -> Passage:
        """The passage in `row`."""
        start = self._text_ends[2 * row - 1] if row else 0
        middle, end = self._text_ends[2 * row], self._text_ends[2 * row + 1]
        return Passage(self.id(row), str(self._texts[start:middle], "utf-8"), str(self._texts[middle:end], "utf-8"))

    def hit(self, row: int, score: float) -> Hit:
        """The passage in `row` as the hit of a search."""
        passage = self.passage(row)
        return Hit(passage.id, score, passage.title, passage.text)

    def row(self, key: str) -> int | None:
        """The row of the passage with this id, by binary search; None where there is none."""
        wanted = key.encode("utf-8", "replace")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if bytes(self._id(int(self.by_id[middle]))) < wanted:
                low = middle + 1
            else:
                high = middle
        found = int(self.by_id[low]) if low < len(self) else -1
        return found if found >= 0 and bytes(self._id(found)) == wanted else None

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, None for those that are not there."""
        rows = [self.row(key) for key in ids]
        return [None if row is None else self.hit(row, 0.0) for row in rows]

    def __iter__(self) -> Iterator[Passage]:
        return (self.passage(row) for row in range(len(self)))

    def check(self, corpus: str, part: str) -> None:
        """That `part` was built from this corpus.

        Raises:
            RetrievalError: it was not.
        """
        if corpus != self.fingerprint:
            raise RetrievalError(
                f"{self.folder / part} was built from another corpus ({corpus:.12}) than {self.folder / PART} "
                f"({self.fingerprint:.12}): build it again, with `toolenvs index CORPUS OUT`"
            )

    def _id(self, row: int) -> "memoryview[int]":
        return self._ids[self._id_ends[row - 1] if row else 0 : self._id_ends[row]]


def write_store(passages: Iterable[Passage], folder: Path) -> Store:
    """Write the passages of a corpus into `folder`.

    Raises:
        ConfigError: two passages have the same id.
    """
    digest = hashlib.sha256()
    text_ends, id_ends = array("q"), array("q")
    keys: list[bytes] = []
    text_end = id_end = 0
    with building(folder, PART) as part:
        with (part / "texts.bin").open("wb") as texts, (part / "ids.bin").open("wb") as ids:
            for passage in passages:
                key, title, text = passage.id.encode(), passage.title.encode(), passage.text.encode()
                texts.write(title + text)
                ids.write(key)
                keys.append(key)
                text_ends.append(text_end + len(title))
                text_ends.append(text_end := text_end + len(title) + len(text))
                id_ends.append(id_end := id_end + len(key))
                digest.update(b"%d %d %d " % (len(key), len(title), len(text)) + key + title + text)
        by_id = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int32)
        for left, right in zip(by_id[:-1].tolist(), by_id[1:].tolist(), strict=True):
            if keys[left] == keys[right]:
                rows = sorted((left + 1, right + 1))
                raise ConfigError(
                    f"passages {rows[0]} and {rows[1]} of the corpus have the same id "
                    f"{keys[left].decode()!r}: ids must be unique"
                )
        rank = np.empty_like(by_id)
        rank[by_id] = np.arange(len(by_id), dtype=np.int32)
        np.save(part / "text_ends.npy", np.array(text_ends, dtype=np.int64))
        np.save(part / "id_ends.npy", np.array(id_ends, dtype=np.int64))
        np.save(part / "by_id.npy", by_id)
        np.save(part / "rank.npy", rank)
        seal(part, {"corpus": digest.hexdigest(), "passages": len(keys)})
    return Store(folder)


Writer = Callable[[Store, Callable[[int], None] | None], None]
"""Writes a backend's part, whose settings are checked, into a store's folder, and tells the number of passages done."""
