"""Vectors of texts that are kept from one run of the local cloud to the next, by the checksums of the texts."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from baton.domain.documents.search import Vector

logger = logging.getLogger("baton_local")

PATIENCE_SECONDS = 5.0
"""Seconds for which another local cloud may keep the file locked."""


class VectorCache:
    """A file of vectors of one embedding model. A file that cannot be used counts as empty."""

    def __init__(self, path: Path, embedder: str, dimensions: int) -> None:
        """Open no file yet. Vectors of other models in the file are not used, and ``keep_only`` removes them."""
        self._path = path
        self._model = f"{embedder}\0{dimensions}\0"
        self._dimensions = dimensions

    def get(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the kept vectors of texts; texts without a vector are left out."""
        vectors: dict[str, Vector] = {}
        with self._opened() as file:
            for text in texts:
                row = file.execute(
                    "SELECT vector FROM vectors WHERE checksum = ?", (self._compute_checksum(text),)
                ).fetchone()
                if row is not None and len(row[0]) == 4 * self._dimensions:
                    vectors[text] = tuple(array("f", row[0]))
        return vectors

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Store the vectors of texts."""
        rows = [(self._compute_checksum(text), array("f", vector).tobytes()) for text, vector in vectors.items()]
        with self._opened() as file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def keep_only(self, texts: Sequence[str]) -> None:
        """Remove the vectors of all other texts."""
        checksums = {self._compute_checksum(text) for text in texts}
        with self._opened() as file:
            stored = [row[0] for row in file.execute("SELECT checksum FROM vectors")]
            file.executemany(
                "DELETE FROM vectors WHERE checksum = ?",
                [(checksum,) for checksum in stored if checksum not in checksums],
            )

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the file, or to an empty database in memory if the file cannot be opened."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = _open(self._path)
        except (OSError, sqlite3.Error) as problem:
            logger.warning("Vectors are not kept for the next run: %s", problem)
            connection = _open(":memory:")
        with closing(connection), connection:
            yield connection

    def _compute_checksum(self, text: str) -> bytes:
        return hashlib.sha256((self._model + text).encode(errors="surrogatepass")).digest()


def _open(path: Path | str) -> sqlite3.Connection:
    """Return a connection to the file with its table. A damaged file is replaced."""
    try:
        return _with_table(path)
    except sqlite3.DatabaseError as problem:
        if isinstance(path, str) or isinstance(problem, sqlite3.OperationalError):
            raise
        path.unlink()
        return _with_table(path)


def _with_table(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE_SECONDS)
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (checksum BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
