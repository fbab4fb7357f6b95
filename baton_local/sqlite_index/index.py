"""The embedded index as the port sees it."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import local
from typing import TypeVar

import numpy as np
from aws_lambda_powertools import Logger
from numpy.typing import NDArray

from baton.domain.documents.search import (
    Candidate,
    IndexDocument,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
    Vector,
    missing_scores,
    with_added,
)
from baton.domain.errors import SearchUnavailable, WrongDimension
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton_local.sqlite_index.owner_file import DocumentName, OwnerFile, where
from baton_local.sqlite_index.vectors import VectorCache
from baton_local.sqlite_index.words import match_expression

T = TypeVar("T")

READERS = 4
WRITERS = 2
"""The threads of each kind. They are separate, because writers may wait for each other while somebody searches."""
OPEN_FILES = 32
"""Open files of each thread."""
PAGE = 200
"""Documents that are listed at once."""
FORMAT = "v1"
"""The folder of the files' format."""


class SqliteIndex:
    """``ports.documents.search.SearchIndex`` in files of a folder, which several processes may use at the same time.

    Every call works in a thread. A search compares all of an owner's vectors, which is exact.
    """

    def __init__(self, folder: Path, dimensions: int) -> None:
        """``dimensions`` is the length of the vectors that it takes."""
        self._folder = folder / FORMAT
        self._dimensions = dimensions
        self._vectors = VectorCache(dimensions)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="search")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="index")
        self._open = local()
        self._logger = Logger(child=True)

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """See ``SearchIndex``."""
        for document in documents:
            for view in document.views.values():
                self._check(view.vector)
        if documents:
            await self._run(self._writers, lambda: self._file(scope, index).put(documents))

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """See ``SearchIndex``."""
        self._check(query.vector)
        return await self._run(self._readers, lambda: self._search(scope, index, query))

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``."""
        return await self._run(self._writers, lambda: self._delete(scope, index, chosen))

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """See ``SearchIndex``."""
        after = ""
        while page := await self._run(self._readers, partial(self._page, scope, index, chosen, after)):
            for document in page:
                yield document
            after = page[-1].id

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``."""
        return await self._run(self._readers, lambda: self._count(scope, index, chosen))

    def _delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        return self._file(scope, index).delete(chosen) if self._has(scope, index) else 0

    def _count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        return self._file(scope, index).count(chosen) if self._has(scope, index) else 0

    def _page(self, scope: Scope, index: IndexName, chosen: SearchFilter, after: str) -> Sequence[IndexDocument]:
        return self._file(scope, index).page(chosen, after, PAGE) if self._has(scope, index) else []

    def _search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        nothing = SearchResult(dict.fromkeys(query.clauses, ()), {})
        if not self._has(scope, index):
            return nothing
        file = self._file(scope, index)
        with file.reading():
            reading = _Reading(file, scope, query, self._vectors)
            ranked = {clause: reading.ranking(clause) for clause in dict.fromkeys(query.clauses)}
            names = file.names(list({number for ranking in ranked.values() for number, _ in ranking}))
            candidates: dict[SearchClause, Sequence[Candidate]] = {
                clause: [Candidate(names[number].id, score, names[number].source_id) for number, score in ranking]
                for clause, ranking in ranked.items()
            }
            for clause, lacking in missing_scores(query, candidates).items():
                scored = reading.similarities(clause, {candidate.id for candidate in lacking}, names)
                candidates[clause] = with_added(candidates[clause], scored, lacking)
            ids = query.select_ids(candidates)
            documents = file.documents([number for number, name in names.items() if name.id in ids])
        return SearchResult(candidates, {document.id: document for document in documents.values()})

    def _check(self, vector: Vector | None) -> None:
        if vector is not None and len(vector) != self._dimensions:
            raise WrongDimension

    def _has(self, scope: Scope, index: IndexName) -> bool:
        """Return whether the owner has a file: a search makes none."""
        return self._path(scope, index).exists()

    def _path(self, scope: Scope, index: IndexName) -> Path:
        # A user id may be longer than a file's name, and hold whatever has a meaning in paths.
        owner = f"-{hashlib.sha256(scope.user_id.encode()).hexdigest()}" if index is IndexName.EPISODES else ""
        return self._folder / scope.tenant_id / f"{index.value}{owner}.sqlite"

    def _file(self, scope: Scope, index: IndexName) -> OwnerFile:
        """Return this thread's connection to the owner's file."""
        files: OrderedDict[Path, OwnerFile] | None = getattr(self._open, "files", None)
        if files is None:
            files = self._open.files = OrderedDict()
        path = self._path(scope, index)
        file = files.pop(path, None)
        if file is not None and not path.exists():  # somebody has emptied the folder
            file.connection.close()
            file = None
        files[path] = file or OwnerFile(path)
        if len(files) > OPEN_FILES:
            files.popitem(last=False)[1].connection.close()
        return files[path]

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work)
        except (sqlite3.Error, OSError) as failure:
            count(Metric.SEARCHES_FAILED)
            self._logger.warning("The embedded index failed", extra={"text": str(failure)})
            raise SearchUnavailable from failure


_Similarities = tuple[NDArray[np.int64], NDArray[np.float32]]


class _Reading:
    """The rankings of one search, in the file's open transaction."""

    def __init__(self, file: OwnerFile, scope: Scope, query: SearchQuery, vectors: VectorCache) -> None:
        self._file = file
        self._query = query
        self._vectors = vectors
        self._views = file.views()
        self._match = match_expression(query.text)
        self._is_filtered = query.filter != SearchFilter() or file.has_permissions()
        self._condition, self._values = where(query.filter, scope.permissions)
        self._similarities: dict[int, _Similarities] = {}
        self._chosen: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None

    def ranking(self, clause: SearchClause) -> Sequence[tuple[int, float]]:
        """Return the numbers and scores of the best documents of a clause, best first."""
        view = self._views.get(clause.view)
        if view is None:
            return []
        return self._by_words(view) if clause.signal is Signal.WORDS else self._by_meaning(view)

    def similarities(self, clause: SearchClause, ids: set[str], names: Mapping[int, DocumentName]) -> dict[str, float]:
        """Return the scores of named documents in a clause by meaning, as far as they have a vector of its view."""
        view = self._views.get(clause.view)
        if view is None or self._query.vector is None:
            return {}
        numbers_of_ids = np.asarray([number for number, name in names.items() if name.id in ids], dtype=np.int64)
        numbers, scores = self._compare_vectors(view)
        places = np.flatnonzero(np.isin(numbers, numbers_of_ids))
        return {names[int(numbers[index])].id: float(scores[index]) for index in places}

    def _by_words(self, view: int) -> Sequence[tuple[int, float]]:
        if self._match is None:
            return []
        words = f"words_{view}"
        chosen = f"AND rowid IN (SELECT number FROM documents WHERE {self._condition})" if self._is_filtered else ""
        rows = self._file.connection.execute(
            f"SELECT rowid, -rank FROM {words} WHERE {words} MATCH ? {chosen} ORDER BY rank, rowid LIMIT ?",
            (self._match, *(self._values if chosen else ()), self._query.candidates),
        )
        return rows.fetchall()

    def _by_meaning(self, view: int) -> Sequence[tuple[int, float]]:
        if self._query.vector is None:
            return []
        numbers, scores = self._compare_vectors(view)
        if self._is_filtered:
            is_chosen = np.isin(numbers, self._chosen_numbers(), assume_unique=True)
            scores, numbers = scores[is_chosen], numbers[is_chosen]
        limit = self._query.candidates
        if len(scores) > limit:
            best = np.argpartition(-scores, limit - 1)[:limit]
            scores, numbers = scores[best], numbers[best]
        order = np.lexsort((numbers, -scores))
        return [(int(numbers[index]), float(scores[index])) for index in order]

    def _compare_vectors(self, view: int) -> _Similarities:
        """Return all documents with a vector of a view, by their numbers, and their similarities to the query."""
        if view not in self._similarities:
            vectors = self._vectors.of(self._file, view)
            query_vector = np.asarray(self._query.vector, dtype=np.float32)
            scores = vectors.rows @ (query_vector / (np.linalg.norm(query_vector) or 1.0))
            self._similarities[view] = vectors.numbers, scores
        return self._similarities[view]

    def _chosen_numbers(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self._chosen is None:
            rows = self._file.connection.execute(
                f"SELECT number FROM documents WHERE {self._condition}", self._values
            ).fetchall()
            self._chosen = np.fromiter((number for (number,) in rows), dtype=np.int64, count=len(rows))
        return self._chosen
