"""Vectors that are kept from one run to the next, in a file, by the checksums of their texts' tokens."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import zipfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baton_local.demo_model.sentence_network import Array

logger = logging.getLogger("baton_local.demo_model")


class StoredVectors:
    """A file of vectors. One that cannot be read counts as empty, and one that cannot be written is not needed."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._dimensions = dimensions

    def get(self, row: Sequence[int]) -> Array | None:
        """Return the vector of a text's tokens, if it is stored."""
        return self._vectors.get(_checksum(row))

    def write(self, vectors: Mapping[tuple[int, ...], Array]) -> None:
        """Store these vectors, in place of all others."""
        import numpy as np

        stored = {_checksum(row): vector for row, vector in vectors.items()}
        if stored.keys() == self._vectors.keys():
            return
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                checksums = np.frombuffer(b"".join(stored), dtype=np.uint8).reshape(len(stored), -1)
                np.savez(file, checksums=checksums, vectors=np.array(list(stored.values()), dtype=np.float32))
            unfinished.replace(self._path)
        except OSError as problem:
            logger.warning("Vectors are not kept for the next run: %s", problem)
            with contextlib.suppress(OSError):
                unfinished.unlink()
        self.__dict__["_vectors"] = stored

    @cached_property
    def _vectors(self) -> dict[bytes, Array]:
        import numpy as np

        try:
            # Numpy leaves a file open that it has opened itself and cannot read.
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                checksums, vectors = stored["checksums"], stored["vectors"]
        except (OSError, ValueError, TypeError, AttributeError, KeyError, EOFError, zipfile.BadZipFile):
            return {}
        if vectors.shape != (len(checksums), self._dimensions) or vectors.dtype != np.float32:
            return {}
        return {bytes(checksum): vector for checksum, vector in zip(checksums, vectors, strict=True)}


def _checksum(row: Sequence[int]) -> bytes:
    return hashlib.sha256(",".join(map(str, row)).encode()).digest()
