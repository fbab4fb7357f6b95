"""The file of one owner's documents."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from baton.adapters.sqlite_index.words import TOKENIZER, WORDS_VERSION, indexed_words
from baton.domain.documents.search import IndexDocument, IndexedText, SearchFilter, Vector
from baton.domain.times import from_millis, to_millis

PAGE_BYTES = 8192
"""Bytes of a page. Two to five vectors of usual lengths fit into one without a rest."""
MAPPED_BYTES = 256 * 1024 * 1024
"""Bytes of a file that are read as memory. The system keeps them as long as there is room."""
_LARGEST = 127

# Each view has a number, and two tables of that number.
_SCHEMA = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
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
CREATE INDEX documents_by_source ON documents (source_id);
CREATE INDEX documents_by_permission ON documents (required_permission) WHERE required_permission IS NOT NULL;
CREATE TABLE views (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE owner (name TEXT NOT NULL);
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
    """An open file, for one thread. Methods block and raise ``apsw.Error``."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Use ``open`` or ``open_draft``."""
        self.connection = connection
        connection.enable_load_extension(True)  # noqa: FBT003 - it has no keywords
        connection.load_extension(_extension())
        connection.enable_load_extension(False)  # noqa: FBT003

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[OwnerFile]:
        """Open a file that nobody changes, to read it."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(f"{path.as_uri()}?immutable=1", flags)) as connection:
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}").fetchall()
            yield cls(connection)

    @classmethod
    @contextmanager
    def open_draft(cls, path: Path) -> Iterator[OwnerFile]:
        """Open a file to change it, and make it if it is missing.

        Nobody else reads it, and after an exception or the end of the process it is of no use: there is no journal.
        """
        with closing(apsw.Connection(str(path))) as connection:
            # Deleted content is overwritten.
            connection.execute(
                f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; BEGIN"
            ).fetchall()
            file = cls(connection)
            if not file.rows("SELECT 1 FROM sqlite_master WHERE name = 'documents'"):
                connection.execute(f"{_SCHEMA} PRAGMA user_version = {WORDS_VERSION}")
            elif file.is_outdated:
                file._renew_words()
            yield file
            file.rows("PRAGMA incremental_vacuum")  # gives back what is free, without a second copy of the file
            connection.execute("COMMIT")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a statement selects."""
        return self.connection.execute(statement, values).fetchall()

    @property
    def is_outdated(self) -> bool:
        """Whether an earlier release has divided its texts into other words."""
        [[version]] = self.rows("PRAGMA user_version")
        return int(version) < WORDS_VERSION

    @property
    def is_changed(self) -> bool:
        """Whether anything has been written since it was opened."""
        return self.connection.total_changes() > 0

    def put(self, documents: Sequence[IndexDocument], owner: str = "") -> None:
        """Store documents. Those that are stored already are left alone. ``owner`` is kept with the first of them."""
        if not self.rows("SELECT 1 FROM owner"):
            self.connection.execute("INSERT INTO owner VALUES (?)", (owner,))
        if sum([self._put(document) for document in documents]):
            self._forget()

    def delete(self, chosen: SearchFilter) -> int:
        """Delete the chosen documents and return their number."""
        condition, values = where(chosen)
        rows = self.rows(f"SELECT number, texts FROM documents WHERE {condition}", values)
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
        rows = self.rows(
            f"SELECT digest, {_COLUMNS} FROM documents WHERE embedder IS NOT ? AND id > ? ORDER BY id LIMIT ?",
            (model, after, limit),
        )
        return [Revision(digest, _document(row)) for digest, *row in rows]

    def revise(self, revisions: Sequence[Revision]) -> int:
        """Replace documents that nobody has written or deleted since they were read, and return their number."""
        replaced = 0
        for revision in revisions:
            if self.rows(
                "SELECT 1 FROM documents WHERE id = ? AND digest = ?", (revision.document.id, revision.digest)
            ):
                replaced += self._put(revision.document)
        if replaced:
            self._forget()
        return replaced

    def page(self, chosen: SearchFilter, after: str, limit: int) -> list[IndexDocument]:
        """Return the next chosen documents, in the order of their ids."""
        condition, values = where(chosen)
        rows = self.rows(
            f"SELECT {_COLUMNS} FROM documents WHERE {condition} AND id > ? ORDER BY id LIMIT ?",
            (*values, after, limit),
        )
        return [_document(row) for row in rows]

    def count(self, chosen: SearchFilter) -> int:
        """Return the number of chosen documents."""
        condition, values = where(chosen)
        [[number]] = self.rows(f"SELECT count(*) FROM documents WHERE {condition}", values)
        return int(number)

    def names(self, numbers: Sequence[int]) -> dict[int, DocumentName]:
        """Return ids and sources of documents by their numbers."""
        rows = self.rows(
            "SELECT number, id, source_id FROM documents WHERE number IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {number: DocumentName(*row) for number, *row in rows}

    def documents(self, numbers: Sequence[int]) -> dict[int, IndexDocument]:
        """Return documents by their numbers."""
        numbers_json = json.dumps(list(numbers))
        rows = self.rows(
            f"SELECT number, {_COLUMNS} FROM documents WHERE number IN (SELECT value FROM json_each(?))",
            (numbers_json,),
        )
        return {number: _document(row) for number, *row in rows}

    def owner(self) -> str:
        """Return the owner: a user or an agent, empty for documents that belong to the tenant."""
        [[name]] = self.rows("SELECT name FROM owner")
        return str(name)

    def with_vectors(self, ids: Collection[str]) -> list[IndexDocument]:
        """Return documents with their vectors, as unit vectors of the numbers that are stored."""
        rows = self.rows(
            f"SELECT number, {_COLUMNS} FROM documents WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        documents = {number: _document(row) for number, *row in rows}
        vectors: dict[int, dict[str, Vector]] = {number: {} for number in documents}
        for view, table in self.views().items():
            for number, blob in self.rows(
                f"SELECT number, vector FROM vectors_{table} WHERE number IN (SELECT value FROM json_each(?))",
                (json.dumps(list(documents)),),
            ):
                vectors[number][view] = _unit_vector(blob)
        return [
            replace(
                document,
                views={
                    name: IndexedText(text.text, vectors[number].get(name)) for name, text in document.views.items()
                },
            )
            for number, document in documents.items()
        ]

    def views(self) -> dict[str, int]:
        """Return the numbers of the views by name."""
        return dict(self.rows("SELECT name, number FROM views"))

    def has_permissions(self) -> bool:
        """Return whether any document requires a permission."""
        return bool(self.rows("SELECT 1 FROM documents WHERE required_permission IS NOT NULL LIMIT 1"))

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
        vectors = {name: vector_blob(view.vector) for name, view in document.views.items() if view.vector is not None}
        digest = _digest(columns, vectors)
        rows = self.rows("SELECT number, texts, digest FROM documents WHERE id = ?", (document.id,))
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
            self.connection.execute(
                f"INSERT INTO documents (id, {', '.join(columns)}, digest) VALUES (?, {places}, ?)",
                (document.id, *columns.values(), digest),
            )
            number = self.connection.last_insert_rowid()
        for name, view in document.views.items():
            table = self._view(name)
            self._add_words(table, number, view.text)
            if name in vectors:
                self.connection.execute(f"INSERT INTO vectors_{table} VALUES (?, ?)", (number, vectors[name]))
        return bool(rows)

    def _remove(self, number: int, texts: str) -> None:
        """Remove a document's words and vectors. A table without texts needs the text to find its words."""
        views = self.views()
        for name, text in json.loads(texts).items():
            table = views[name]
            self.connection.execute(
                f"INSERT INTO words_{table} (words_{table}, rowid, text) VALUES ('delete', ?, ?)",
                (number, indexed_words(text)),
            )
            self.connection.execute(f"DELETE FROM vectors_{table} WHERE number = ?", (number,))

    def _view(self, name: str) -> int:
        rows = self.rows("SELECT number FROM views WHERE name = ?", (name,))
        if rows:
            return int(rows[0][0])
        self.connection.execute("INSERT INTO views (name) VALUES (?)", (name,))
        number = self.connection.last_insert_rowid()
        self._make_words(number)
        self.connection.execute(f"CREATE TABLE vectors_{number} (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
        return number

    def _make_words(self, view: int) -> None:
        self.connection.execute(
            f"CREATE VIRTUAL TABLE words_{view} USING fts5(text, content='', tokenize=\"{TOKENIZER}\")"
        )

    def _renew_words(self) -> None:
        """Make the tables of words again from the stored texts: an earlier release divided these otherwise."""
        views = self.views()
        for view in views.values():
            self.connection.execute(f"DROP TABLE words_{view}")
            self._make_words(view)
        for number, texts in self.rows("SELECT number, texts FROM documents"):
            for name, text in json.loads(texts).items():
                self._add_words(views[name], number, text)
        self.connection.execute(f"PRAGMA user_version = {WORDS_VERSION}")

    def _add_words(self, view: int, number: int, text: str) -> None:
        self.connection.execute(f"INSERT INTO words_{view} (rowid, text) VALUES (?, ?)", (number, indexed_words(text)))

    def _forget(self) -> None:
        """Write the words of what was deleted out of the file."""
        for number in self.views().values():
            self.connection.execute(f"INSERT INTO words_{number} (words_{number}) VALUES ('optimize')")


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


@cache
def _extension() -> str:
    """Return the file of sqlite-vec. Its package is not imported: it would load numpy where that is installed."""
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise ImportError("sqlite-vec is not installed.")
    return str(Path(spec.origin).with_name("vec0"))


def is_sound(path: Path) -> bool:
    """Return whether a file can be read, all of it."""
    try:
        with OwnerFile.open(path) as file:
            return file.rows("PRAGMA quick_check(1)") == [("ok",)]
    except apsw.Error:
        return False


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


def vector_blob(vector: Vector) -> bytes:
    """Return a vector as it is stored: whole numbers of one byte, the largest of which is 127.

    A vector's length has no influence on cosines. See ``docs/decisions/0064`` for what this costs.
    """
    largest = max(map(abs, vector), default=0.0)
    scale = _LARGEST / largest if largest > 0 and math.isfinite(largest) else 0.0
    return array("b", [round(number * scale) for number in vector]).tobytes()


def _unit_vector(blob: bytes) -> Vector:
    numbers = array("b", blob)
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


def _digest(columns: Mapping[str, Any], vectors: Mapping[str, bytes]) -> bytes:
    digest = hashlib.sha256(json.dumps([list(columns.values()), sorted(vectors)]).encode())
    for name in sorted(vectors):
        digest.update(vectors[name])
    return digest.digest()
