"""The file of one owner's documents."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from baton.adapters.sqlite_index.conditions import make_filter_condition
from baton.adapters.sqlite_index.stored_forms import (
    COLUMNS,
    compute_digest,
    to_columns,
    to_document,
    to_unit_vector,
    to_vector_blob,
)
from baton.adapters.sqlite_index.words import TOKENIZER, WORDS_VERSION, to_indexed_text
from baton.domain.documents.search import IndexDocument, IndexedText, SearchFilter, Vector

PAGE_BYTES = 8192
"""The size of a page, which two to five vectors of usual lengths fill."""
MAPPED_BYTES = 256 * 1024 * 1024
"""The number of a file's bytes that are mapped into memory. The system caches them while there is room."""

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
    """A new form of a stored document."""

    digest: bytes
    """The digest of the stored form from which it was made."""
    document: IndexDocument


class OwnerFile:
    """An open file, for one thread. Methods block and raise ``apsw.Error``."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Callers use ``open`` or ``open_draft``."""
        self.connection = connection
        connection.enable_load_extension(True)  # noqa: FBT003 - it has no keywords
        connection.load_extension(_find_extension())
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
        """Open a file to change it. A missing file is created.

        No other process may read it. It has no journal, so it is useless after an exception or the end of the process.
        """
        with closing(apsw.Connection(str(path))) as connection:
            # ``secure_delete`` overwrites deleted content.
            connection.execute(
                f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; BEGIN"
            ).fetchall()
            file = cls(connection)
            if not file.select_rows("SELECT 1 FROM sqlite_master WHERE name = 'documents'"):
                connection.execute(f"{_SCHEMA} PRAGMA user_version = {WORDS_VERSION}")
            elif file.is_outdated:
                file._rebuild_words()
            yield file
            file.select_rows("PRAGMA incremental_vacuum")  # which frees pages without a second copy of the file
            connection.execute("COMMIT")

    def select_rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a statement selects."""
        return self.connection.execute(statement, values).fetchall()

    @property
    def is_outdated(self) -> bool:
        """Whether an earlier release, which divides texts into words differently, has written the file."""
        [[version]] = self.select_rows("PRAGMA user_version")
        return int(version) < WORDS_VERSION

    @property
    def is_changed(self) -> bool:
        """Whether anything has been written since the file was opened."""
        return self.connection.total_changes() > 0

    def put(self, documents: Sequence[IndexDocument], owner: str = "") -> None:
        """Store documents in place of others of the same ids. A new file also stores its ``owner``."""
        if not self.select_rows("SELECT 1 FROM owner"):
            self.connection.execute("INSERT INTO owner VALUES (?)", (owner,))
        if sum([self._put_document(document) for document in documents]):
            self._erase_deleted_words()

    def delete(self, chosen: SearchFilter) -> int:
        """Delete the chosen documents and return their number."""
        condition, values = make_filter_condition(chosen)
        rows = self.select_rows(f"SELECT number, texts FROM documents WHERE {condition}", values)
        for number, texts in rows:
            self._remove_content(number, texts)
            self.connection.execute("DELETE FROM documents WHERE number = ?", (number,))
        if rows:
            self._erase_deleted_words()
        return len(rows)

    def read_outdated(self, model: str | None, after: str, limit: int) -> list[Revision]:
        """Return at most ``limit`` documents with ids after ``after`` that are not embedded by ``model``, sorted by id.

        None for ``model`` returns documents with vectors of any model.
        """
        rows = self.select_rows(
            f"SELECT digest, {COLUMNS} FROM documents WHERE embedder IS NOT ? AND id > ? ORDER BY id LIMIT ?",
            (model, after, limit),
        )
        return [Revision(digest, to_document(row)) for digest, *row in rows]

    def revise(self, revisions: Sequence[Revision]) -> int:
        """Replace documents that are still stored in the form that was read. Return the number of replacements."""
        replaced = 0
        for revision in revisions:
            if self.select_rows(
                "SELECT 1 FROM documents WHERE id = ? AND digest = ?", (revision.document.id, revision.digest)
            ):
                replaced += self._put_document(revision.document)
        if replaced:
            self._erase_deleted_words()
        return replaced

    def read_page(self, chosen: SearchFilter, after: str, limit: int) -> list[IndexDocument]:
        """Return at most ``limit`` chosen documents with ids after ``after``, sorted by id."""
        condition, values = make_filter_condition(chosen)
        rows = self.select_rows(
            f"SELECT {COLUMNS} FROM documents WHERE {condition} AND id > ? ORDER BY id LIMIT ?", (*values, after, limit)
        )
        return [to_document(row) for row in rows]

    def count(self, chosen: SearchFilter) -> int:
        """Return the number of chosen documents."""
        condition, values = make_filter_condition(chosen)
        [[number]] = self.select_rows(f"SELECT count(*) FROM documents WHERE {condition}", values)
        return int(number)

    def read_names(self, numbers: Sequence[int]) -> dict[int, DocumentName]:
        """Return the ids and sources of documents, by their numbers (row ids)."""
        rows = self.select_rows(
            "SELECT number, id, source_id FROM documents WHERE number IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {number: DocumentName(*row) for number, *row in rows}

    def read_documents(self, numbers: Sequence[int]) -> dict[int, IndexDocument]:
        """Return documents by their numbers, without their vectors."""
        numbers_json = json.dumps(list(numbers))
        rows = self.select_rows(
            f"SELECT number, {COLUMNS} FROM documents WHERE number IN (SELECT value FROM json_each(?))", (numbers_json,)
        )
        return {number: to_document(row) for number, *row in rows}

    def read_owner(self) -> str:
        """Return the id of the user or agent that owns the file; empty for documents that belong to the tenant."""
        [[name]] = self.select_rows("SELECT name FROM owner")
        return str(name)

    def read_with_vectors(self, ids: Collection[str]) -> list[IndexDocument]:
        """Return documents by their ids, with their vectors, which are scaled to length 1. Unknown ids are left out."""
        rows = self.select_rows(
            f"SELECT number, {COLUMNS} FROM documents WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        documents = {number: to_document(row) for number, *row in rows}
        vectors: dict[int, dict[str, Vector]] = {number: {} for number in documents}
        for view, table in self.read_views().items():
            for number, blob in self.select_rows(
                f"SELECT number, vector FROM vectors_{table} WHERE number IN (SELECT value FROM json_each(?))",
                (json.dumps(list(documents)),),
            ):
                vectors[number][view] = to_unit_vector(blob)
        return [
            replace(
                document,
                views={
                    name: IndexedText(text.text, vectors[number].get(name)) for name, text in document.views.items()
                },
            )
            for number, document in documents.items()
        ]

    def read_views(self) -> dict[str, int]:
        """Return the numbers of the views' tables, by the views' names."""
        return dict(self.select_rows("SELECT name, number FROM views"))

    def has_permissions(self) -> bool:
        """Return whether any document requires a permission."""
        return bool(self.select_rows("SELECT 1 FROM documents WHERE required_permission IS NOT NULL LIMIT 1"))

    def _put_document(self, document: IndexDocument) -> bool:
        """Store a document. Return whether another form of the document was replaced."""
        columns = to_columns(document)
        vectors = {
            name: to_vector_blob(view.vector) for name, view in document.views.items() if view.vector is not None
        }
        digest = compute_digest(columns, vectors)
        rows = self.select_rows("SELECT number, texts, digest FROM documents WHERE id = ?", (document.id,))
        if rows and rows[0][2] == digest:
            return False
        if rows:
            number = rows[0][0]
            self._remove_content(number, rows[0][1])
            assignments = ", ".join(f"{name} = ?" for name in columns)
            self.connection.execute(
                f"UPDATE documents SET {assignments}, digest = ? WHERE number = ?", (*columns.values(), digest, number)
            )
        else:
            placeholders = ", ".join("?" * len(columns))
            self.connection.execute(
                f"INSERT INTO documents (id, {', '.join(columns)}, digest) VALUES (?, {placeholders}, ?)",
                (document.id, *columns.values(), digest),
            )
            number = self.connection.last_insert_rowid()
        for name, view in document.views.items():
            table = self._ensure_view(name)
            self._add_words(table, number, view.text)
            if name in vectors:
                self.connection.execute(f"INSERT INTO vectors_{table} VALUES (?, ?)", (number, vectors[name]))
        return bool(rows)

    def _remove_content(self, number: int, texts: str) -> None:
        """Remove a document's words and vectors. ``texts`` are its texts as JSON, which deleting its words requires."""
        views = self.read_views()
        for name, text in json.loads(texts).items():
            table = views[name]
            self.connection.execute(
                f"INSERT INTO words_{table} (words_{table}, rowid, text) VALUES ('delete', ?, ?)",
                (number, to_indexed_text(text)),
            )
            self.connection.execute(f"DELETE FROM vectors_{table} WHERE number = ?", (number,))

    def _ensure_view(self, name: str) -> int:
        """Return the number of a view's tables, which are made if they are missing."""
        rows = self.select_rows("SELECT number FROM views WHERE name = ?", (name,))
        if rows:
            return int(rows[0][0])
        self.connection.execute("INSERT INTO views (name) VALUES (?)", (name,))
        number = self.connection.last_insert_rowid()
        self._create_words_table(number)
        self.connection.execute(f"CREATE TABLE vectors_{number} (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
        return number

    def _create_words_table(self, view: int) -> None:
        self.connection.execute(
            f"CREATE VIRTUAL TABLE words_{view} USING fts5(text, content='', tokenize=\"{TOKENIZER}\")"
        )

    def _rebuild_words(self) -> None:
        """Make the tables of words again from the stored texts, because they are divided into words differently now."""
        views = self.read_views()
        for view in views.values():
            self.connection.execute(f"DROP TABLE words_{view}")
            self._create_words_table(view)
        for number, texts in self.select_rows("SELECT number, texts FROM documents"):
            for name, text in json.loads(texts).items():
                self._add_words(views[name], number, text)
        self.connection.execute(f"PRAGMA user_version = {WORDS_VERSION}")

    def _add_words(self, view: int, number: int, text: str) -> None:
        self.connection.execute(
            f"INSERT INTO words_{view} (rowid, text) VALUES (?, ?)", (number, to_indexed_text(text))
        )

    def _erase_deleted_words(self) -> None:
        """Merge the tables of words, so that the file no longer holds words of deleted documents."""
        for number in self.read_views().values():
            self.connection.execute(f"INSERT INTO words_{number} (words_{number}) VALUES ('optimize')")


@cache
def _find_extension() -> str:
    """Return the file of sqlite-vec, without importing its package, which would load numpy if that is installed.

    Raises ``ImportError``.
    """
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise ImportError("sqlite-vec is not installed.")
    return str(Path(spec.origin).with_name("vec0"))


def is_readable(path: Path) -> bool:
    """Return whether the whole file can be read."""
    try:
        with OwnerFile.open(path) as file:
            return file.select_rows("PRAGMA quick_check(1)") == [("ok",)]
    except apsw.Error:
        return False
