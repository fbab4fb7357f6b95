"""The file of one owner's documents."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from baton.domain.documents.search import IndexDocument, IndexedText, SearchFilter, Vector
from baton.domain.times import from_millis, to_millis
from baton_local.sqlite_index.words import TOKENIZER, WORDS_VERSION, indexed_words

BUSY_SECONDS = 5.0
"""Seconds for which a write waits for another one, of any process. Opening a file waits as long."""

PAUSE_SECONDS = 0.01
"""The pause between two attempts to open a file that another connection is making."""

# Rows of documents have growing numbers, which are never used again: what was added since a number is known by it.
# "version" grows when a row is changed or deleted. Each view has its own number, and two tables of that number.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    source_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent_id TEXT,
    thread_id TEXT,
    required_permission TEXT,
    at INTEGER NOT NULL,
    embedder TEXT,
    texts TEXT NOT NULL,
    fields TEXT NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_by_source ON documents (source_id);
CREATE INDEX IF NOT EXISTS documents_by_permission ON documents (required_permission)
    WHERE required_permission IS NOT NULL;
CREATE TABLE IF NOT EXISTS views (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS state (version INTEGER NOT NULL);
INSERT INTO state SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM state);
"""


@dataclass(frozen=True, slots=True)
class DocumentName:
    """The fields of a document that a ranking reads."""

    id: str
    source_id: str


@dataclass(frozen=True, slots=True)
class Revision:
    """A document, and the digest of what is stored under its id as it was read."""

    digest: bytes
    document: IndexDocument


class OwnerFile:
    """A connection to an owner's file, for one thread. Methods block and raise ``sqlite3.Error``."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it if it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            run = self.connection.execute
            _use_write_ahead_log(self.connection)
            run("PRAGMA synchronous = NORMAL")
            # Deleted content is overwritten.
            run("PRAGMA secure_delete = ON")
            if run("SELECT 1 FROM sqlite_master WHERE name = 'state'").fetchone() is None:
                self.connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            if self._words_version() < WORDS_VERSION:
                self._renew_words()
        except BaseException:
            self.connection.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the file, whatever is written meanwhile."""
        with self._transaction("BEGIN"):
            yield

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Store all documents or none. Those that are stored already are left alone."""
        with self._transaction("BEGIN IMMEDIATE"):
            replaced = sum([self._put(document) for document in documents])
        if replaced:
            self._forget()

    def delete(self, chosen: SearchFilter) -> int:
        """Delete the chosen documents and return their number."""
        condition, values = where(chosen)
        with self._transaction("BEGIN IMMEDIATE"):
            rows = self._all(f"SELECT number, texts FROM documents WHERE {condition}", values)
            for number, texts in rows:
                self._remove(number, texts)
                self.connection.execute("DELETE FROM documents WHERE number = ?", (number,))
        if rows:
            self._forget()
        return len(rows)

    def outdated(self, model: str | None, after: str, limit: int) -> list[Revision]:
        """Return the next documents that have no vectors of ``model``, in the order of their ids.

        None stands for documents without vectors.
        """
        rows = self._all(
            f"SELECT digest, {_COLUMNS} FROM documents WHERE embedder IS NOT ? AND id > ? ORDER BY id LIMIT ?",
            (model, after, limit),
        )
        return [Revision(digest, _document(row)) for digest, *row in rows]

    def revise(self, revisions: Sequence[Revision]) -> int:
        """Replace documents that nobody has written or deleted since they were read, and return their number."""
        replaced = 0
        with self._transaction("BEGIN IMMEDIATE"):
            for revision in revisions:
                if self._all(
                    "SELECT 1 FROM documents WHERE id = ? AND digest = ?", (revision.document.id, revision.digest)
                ):
                    replaced += self._put(revision.document)
        if replaced:
            self._forget()
        return replaced

    def page(self, chosen: SearchFilter, after: str, limit: int) -> list[IndexDocument]:
        """Return the next chosen documents, in the order of their ids."""
        condition, values = where(chosen)
        rows = self._all(
            f"SELECT {_COLUMNS} FROM documents WHERE {condition} AND id > ? ORDER BY id LIMIT ?",
            (*values, after, limit),
        )
        return [_document(row) for row in rows]

    def count(self, chosen: SearchFilter) -> int:
        """Return the number of chosen documents."""
        condition, values = where(chosen)
        [[number]] = self._all(f"SELECT count(*) FROM documents WHERE {condition}", values)
        return int(number)

    def names(self, numbers: Sequence[int]) -> dict[int, DocumentName]:
        """Return ids and sources of documents by their numbers."""
        rows = self._all(
            "SELECT number, id, source_id FROM documents WHERE number IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {number: DocumentName(*row) for number, *row in rows}

    def documents(self, numbers: Sequence[int]) -> dict[int, IndexDocument]:
        """Return documents by their numbers."""
        numbers_json = json.dumps(list(numbers))
        rows = self._all(
            f"SELECT number, {_COLUMNS} FROM documents WHERE number IN (SELECT value FROM json_each(?))",
            (numbers_json,),
        )
        return {number: _document(row) for number, *row in rows}

    def views(self) -> dict[str, int]:
        """Return the numbers of the views by name."""
        return dict(self._all("SELECT name, number FROM views"))

    def has_permissions(self) -> bool:
        """Return whether any document requires a permission."""
        return bool(self._all("SELECT 1 FROM documents WHERE required_permission IS NOT NULL LIMIT 1"))

    def version(self) -> int:
        """Return a number that grows whenever a document is changed or deleted."""
        [[version]] = self._all("SELECT version FROM state")
        return int(version)

    def _put(self, document: IndexDocument) -> bool:
        """Return whether another document of this id was replaced."""
        texts = json.dumps({name: view.text for name, view in document.views.items()})
        columns = {
            "source_id": document.source_id,
            "kind": document.kind,
            "agent_id": document.agent_id,
            "thread_id": document.thread_id,
            "required_permission": document.required_permission,
            "at": to_millis(document.at),
            "embedder": document.embedder,
            "texts": texts,
            "fields": json.dumps(dict(document.fields)),
        }
        vectors = {name: _blob(view.vector) for name, view in document.views.items() if view.vector is not None}
        digest = _digest(columns, vectors)
        rows = self._all("SELECT number, texts, digest FROM documents WHERE id = ?", (document.id,))
        if rows and rows[0][2] == digest:
            return False
        if rows:
            number = rows[0][0]
            self._remove(number, rows[0][1])
            places = ", ".join(f"{name} = ?" for name in columns)
            self.connection.execute(
                f"UPDATE documents SET {places}, digest = ? WHERE number = ?", (*columns.values(), digest, number)
            )
        else:
            places = ", ".join("?" * len(columns))
            cursor = self.connection.execute(
                f"INSERT INTO documents (id, {', '.join(columns)}, digest) VALUES (?, {places}, ?)",
                (document.id, *columns.values(), digest),
            )
            number = cursor.lastrowid
        for name, view in document.views.items():
            table = self._view(name)
            self._add_words(table, number, view.text)
            if name in vectors:
                self.connection.execute(f"INSERT INTO vectors_{table} VALUES (?, ?)", (number, vectors[name]))
        return bool(rows)

    def _remove(self, number: int, texts: str) -> None:
        """Remove a document's words and vectors. A table without texts needs the text to find its words."""
        self.connection.execute("UPDATE state SET version = version + 1")
        views = self.views()
        for name, text in json.loads(texts).items():
            table = views[name]
            self.connection.execute(
                f"INSERT INTO words_{table} (words_{table}, rowid, text) VALUES ('delete', ?, ?)",
                (number, indexed_words(text)),
            )
            self.connection.execute(f"DELETE FROM vectors_{table} WHERE number = ?", (number,))

    def _view(self, name: str) -> int:
        rows = self._all("SELECT number FROM views WHERE name = ?", (name,))
        if rows:
            return int(rows[0][0])
        number = self.connection.execute("INSERT INTO views (name) VALUES (?)", (name,)).lastrowid or 0
        self._make_words(number)
        self.connection.execute(f"CREATE TABLE vectors_{number} (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
        return number

    def _make_words(self, view: int) -> None:
        self.connection.execute(
            f"CREATE VIRTUAL TABLE words_{view} USING fts5(text, content='', tokenize=\"{TOKENIZER}\")"
        )

    def _words_version(self) -> int:
        [[version]] = self._all("PRAGMA user_version")
        return int(version)

    def _renew_words(self) -> None:
        """Make the tables of words again from the stored texts: an earlier release divided these otherwise."""
        with self._transaction("BEGIN IMMEDIATE"):
            if self._words_version() >= WORDS_VERSION:
                return  # another process was faster
            views = self.views()
            for view in views.values():
                self.connection.execute(f"DROP TABLE words_{view}")
                self._make_words(view)
            for number, texts in self.connection.execute("SELECT number, texts FROM documents"):
                for name, text in json.loads(texts).items():
                    self._add_words(views[name], number, text)
            self.connection.execute(f"PRAGMA user_version = {WORDS_VERSION}")

    def _add_words(self, view: int, number: int, text: str) -> None:
        self.connection.execute(f"INSERT INTO words_{view} (rowid, text) VALUES (?, ?)", (number, indexed_words(text)))

    def _forget(self) -> None:
        """Write the words of what was deleted out of the file."""
        with self._transaction("BEGIN IMMEDIATE"):
            for number in self.views().values():
                self.connection.execute(f"INSERT INTO words_{number} (words_{number}) VALUES ('optimize')")
        # While somebody reads for longer than this waits, the log keeps what was deleted until the next deletion.
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self.connection.execute(begin)
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return self.connection.execute(statement, values).fetchall()


def where(chosen: SearchFilter, permissions: frozenset[str] | None = None) -> tuple[str, list[Any]]:
    """Return the condition of a filter, and its values. ``permissions`` are a reader's, None for one who needs none."""
    conditions, values = ["1"], list[Any]()
    for column, value in (
        ("agent_id", chosen.agent_id),
        ("thread_id", chosen.thread_id),
        ("source_id", chosen.source_id),
    ):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if chosen.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(chosen.kinds))})")
        values += chosen.kinds
    if chosen.since is not None:
        conditions.append("at >= ?")
        values.append(to_millis(chosen.since))
    if chosen.until is not None:
        conditions.append("at < ?")
        values.append(to_millis(chosen.until))
    if permissions is not None:
        conditions.append("(required_permission IS NULL OR required_permission IN (SELECT value FROM json_each(?)))")
        values.append(json.dumps(sorted(permissions)))
    return " AND ".join(conditions), values


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Have writes go into a log beside the file. Raises ``sqlite3.OperationalError`` if others write for long.

    SQLite refuses the change at once while another connection writes, whatever the timeout is, as when several open a
    new file at the same time.
    """
    gives_up_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as refused:
            # The code is an extended one: its last byte is the kind of error.
            if refused.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > gives_up_at:
                raise
            time.sleep(PAUSE_SECONDS)


_COLUMNS = "id, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields"


def _document(row: Sequence[Any]) -> IndexDocument:
    id_, source_id, kind, agent_id, thread_id, required_permission, at, embedder, texts, fields = row
    return IndexDocument(
        id=id_,
        source_id=source_id,
        kind=kind,
        views={name: IndexedText(text) for name, text in json.loads(texts).items()},
        at=from_millis(at),
        agent_id=agent_id,
        thread_id=thread_id,
        required_permission=required_permission,
        embedder=embedder,
        fields=json.loads(fields),
    )


def _blob(vector: Vector) -> bytes:
    numbers = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(numbers))
    return (numbers / length if length else numbers).tobytes()


def _digest(columns: Mapping[str, Any], vectors: Mapping[str, bytes]) -> bytes:
    digest = hashlib.sha256(json.dumps([list(columns.values()), sorted(vectors)]).encode())
    for name in sorted(vectors):
        digest.update(vectors[name])
    return digest.digest()
