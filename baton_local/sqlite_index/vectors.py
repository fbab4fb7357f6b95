"""The vectors of owners, in memory while they are searched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from baton_local.sqlite_index.owner_file import OwnerFile

MAX_BYTES = 256 * 1024 * 1024
"""Memory for vectors. Those that were not searched for the longest time go first."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one view, with the numbers of their documents, in ascending order."""

    version: int
    numbers: NDArray[np.int64]
    rows: NDArray[np.float32]


class VectorCache:
    """Vectors by file and view, read again when the file has changed."""

    def __init__(self, dimensions: int, max_bytes: int = MAX_BYTES) -> None:
        self._dimensions = dimensions
        self._kept: LRUCache[tuple[Path, int], Vectors] = LRUCache(max_bytes, lambda vectors: vectors.rows.nbytes)
        self._lock = Lock()

    def of(self, file: OwnerFile, view: int) -> Vectors:
        """Return the vectors of a view as they are in the file's open transaction."""
        key = (file.path, view)
        with self._lock:
            cached = self._kept.get(key)
        version = file.version()
        if cached is None or cached.version != version:
            vectors = self._read(file, view, version)
        else:
            added = self._read(file, view, version, after=int(cached.numbers[-1]) if len(cached.numbers) else 0)
            if not len(added.numbers):
                return _until(cached, _newest(file, view))
            vectors = Vectors(
                version, np.concatenate([cached.numbers, added.numbers]), np.concatenate([cached.rows, added.rows])
            )
        self._keep(key, vectors)
        return vectors

    def _read(self, file: OwnerFile, view: int, version: int, after: int = 0) -> Vectors:
        # Vectors of another length come from an earlier embedding model and are not comparable.
        rows = file.connection.execute(
            f"SELECT number, vector FROM vectors_{view} WHERE number > ? AND length(vector) = ? ORDER BY number",
            (after, 4 * self._dimensions),
        ).fetchall()
        numbers = np.fromiter((number for number, _ in rows), dtype=np.int64, count=len(rows))
        blob = b"".join(vector for _, vector in rows)
        return Vectors(version, numbers, np.frombuffer(blob, dtype=np.float32).reshape(len(rows), self._dimensions))

    def _keep(self, key: tuple[Path, int], vectors: Vectors) -> None:
        with self._lock:
            if vectors.rows.nbytes <= self._kept.maxsize:
                self._kept[key] = vectors
            else:
                self._kept.pop(key, None)


def _newest(file: OwnerFile, view: int) -> int:
    [[number]] = file.connection.execute(f"SELECT coalesce(max(number), 0) FROM vectors_{view}").fetchall()
    return int(number)


def _until(vectors: Vectors, newest: int) -> Vectors:
    """Return the vectors up to a number. Another search, which began later, may have kept newer ones."""
    end = int(np.searchsorted(vectors.numbers, newest, side="right"))
    return Vectors(vectors.version, vectors.numbers[:end], vectors.rows[:end])
