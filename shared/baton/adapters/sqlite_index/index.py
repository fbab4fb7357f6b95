"""``SearchIndex`` on the embedded index."""

from __future__ import annotations

import asyncio
import contextvars
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar

import apsw
from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

from baton.adapters.sqlite_index.bounds import NEARLY_FULL_PERCENT
from baton.adapters.sqlite_index.objects import NoFile
from baton.adapters.sqlite_index.owner_file import OwnerFile
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.adapters.sqlite_index.owners import make_index_prefix, make_owner_key
from baton.adapters.sqlite_index.rankings import search_file
from baton.domain.documents.search import (
    Candidate,
    IndexDocument,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Vector,
)
from baton.domain.errors import SearchMoved, SearchUnavailable, StoreUnavailable, WrongDimension
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope

T = TypeVar("T")

READERS = 8
WRITERS = 16
"""The number of threads of each kind. They are separate, so that searches need not wait for writers."""
COUNTED_AT_ONCE = 1000
"""The number of a tenant's objects that one call counts: as many as one request lists."""
DELETED_AT_ONCE = 100
"""The number of a tenant's objects that one call deletes."""
PAGE = 200
"""The number of documents on a page of a listing."""


class SqliteIndex:
    """``ports.documents.search.SearchIndex`` in files of a bucket, which any number of processes may use.

    Every call works in a thread.
    """

    def __init__(self, files: OwnerFiles, dimensions: int) -> None:
        """``dimensions`` is the length of the vectors of documents and queries."""
        self._files = files
        self._dimensions = dimensions
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="search")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="index")
        self._logger = Logger(child=True)

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """See ``SearchIndex``. Raises ``SearchIndexFull`` beyond the limits of an owner."""
        by_key: dict[str, list[IndexDocument]] = defaultdict(list)
        for document in documents:
            for view in document.views.values():
                self._check_dimensions(view.vector)
            by_key[make_owner_key(scope, index, document.agent_id)].append(document)
        for key, group in by_key.items():
            owner = scope.user_id if index is IndexName.EPISODES else group[0].agent_id or ""
            await self._change(key, partial(OwnerFile.put, documents=group, owner=owner))

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """See ``SearchIndex``."""
        self._check_dimensions(query.vector)
        return await self._run(self._readers, lambda: self._search(scope, index, query))

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``."""
        keys = await self._run(self._readers, lambda: self._find_keys(scope, index, chosen))
        deleted = 0
        for key in keys:
            with suppress(*self._list_ignored_errors(index, chosen)):
                deleted += await self._change(key, lambda file: file.delete(chosen))
        return deleted

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """See ``SearchIndex``."""
        after = ""
        while page := await self._run(self._readers, partial(self._read_page, scope, index, chosen, after)):
            for document in page:
                yield document
            after = page[-1].id

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``."""
        counts = await self._run(
            self._readers, lambda: self._read(scope, index, chosen, lambda file: file.count(chosen))
        )
        return sum(counts)

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """See ``SearchIndex``. It counts files, and marks of owners that have moved."""
        keys = await self._run(
            self._readers, lambda: self._files.list_of_tenant(scope.tenant_id, COUNTED_AT_ONCE, position)
        )
        return len(keys), keys[-1] if len(keys) == COUNTED_AT_ONCE else None

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """See ``SearchIndex``. It deletes and counts files, and marks of owners that have moved."""
        number = await self._run(self._writers, lambda: self._files.delete_of_tenant(scope.tenant_id, DELETED_AT_ONCE))
        return number, number < DELETED_AT_ONCE

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        """See ``SearchIndex``."""
        key = make_owner_key(scope, IndexName.KNOWLEDGE, agent_id)
        return await self._run(self._readers, lambda: self._files.objects.read_fill_percent(key))

    def _read_page(self, scope: Scope, index: IndexName, chosen: SearchFilter, after: str) -> Sequence[IndexDocument]:
        """Return at most ``PAGE`` chosen documents of all files with ids after ``after``, sorted by id."""
        pages = self._read(scope, index, chosen, lambda file: file.read_page(chosen, after, PAGE))
        return sorted(chain.from_iterable(pages), key=lambda document: document.id)[:PAGE]

    def _search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        file_query = query
        if index is not IndexName.EPISODES:  # all documents of a file belong to one agent
            file_query = replace(query, filter=replace(query.filter, agent_id=None))
        results = self._read(scope, index, query.filter, lambda file: search_file(file, scope, file_query))
        if len(results) == 1:
            return results[0]
        return merge_results(results, query)

    def _read(
        self, scope: Scope, index: IndexName, chosen: SearchFilter, read: Callable[[OwnerFile], T]
    ) -> Sequence[T]:
        """Return the results of ``read`` for the files that may have chosen documents."""
        results = []
        for key in self._find_keys(scope, index, chosen):
            with suppress(*self._list_ignored_errors(index, chosen)), self._files.open_current(key) as file:
                if file is not None:
                    results.append(read(file))
        return results

    def _find_keys(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> Sequence[str]:
        """Return the keys of the files that may have chosen documents."""
        if _has_one_owner(index, chosen):
            return [make_owner_key(scope, index, chosen.agent_id)]
        return list(self._files.objects.list_keys(make_index_prefix(scope.tenant_id, index)))

    @staticmethod
    def _list_ignored_errors(index: IndexName, chosen: SearchFilter) -> tuple[type[Exception], ...]:
        """Return the errors of files that were moved after they were listed; none for a single owner's file."""
        return () if _has_one_owner(index, chosen) else (NoFile, SearchMoved)

    def _check_dimensions(self, vector: Vector | None) -> None:
        if vector is not None and len(vector) != self._dimensions:
            raise WrongDimension

    async def _change(self, key: str, change: Callable[[OwnerFile], T]) -> T:
        """Change a file in a thread, and report its fill. Return the result of ``change``."""
        outcome = await self._run(self._writers, lambda: self._files.change(key, change))
        count(Metric.SEARCH_INDEX_FILL, outcome.fill_percent)
        if outcome.fill_percent >= NEARLY_FULL_PERCENT:
            self._logger.warning("A search index is nearly full", extra={"key": key, "percent": outcome.fill_percent})
        return outcome.result

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """Run ``work`` in one of ``threads``. Raises ``SearchUnavailable`` for failures of files and of S3."""
        context = contextvars.copy_context()
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, context.run, work)
        except (apsw.Error, ClientError, OSError, StoreUnavailable) as failure:
            count(Metric.SEARCHES_FAILED)
            self._logger.warning("The embedded index failed", extra={"text": repr(failure)})
            raise SearchUnavailable from failure
        except SearchUnavailable:
            count(Metric.SEARCHES_FAILED)
            raise


def _has_one_owner(index: IndexName, chosen: SearchFilter) -> bool:
    return index is IndexName.EPISODES or chosen.agent_id is not None


def merge_results(results: Sequence[SearchResult], query: SearchQuery) -> SearchResult:
    """Return the results of several searches as one. Scores by words depend on the statistics of each search."""
    candidates = {clause: _merge_rankings(results, clause, query.candidates) for clause in dict.fromkeys(query.clauses)}
    ids = query.select_ids(candidates)
    documents = chain.from_iterable(result.documents.items() for result in results)
    return SearchResult(
        candidates, {document_id: document for document_id, document in documents if document_id in ids}
    )


def _merge_rankings(results: Sequence[SearchResult], clause: SearchClause, limit: int) -> Sequence[Candidate]:
    """Return the candidates of a clause in all results: the best ``limit``, then those that were added."""
    candidates = sorted(
        (candidate for result in results for candidate in result.candidates.get(clause, ())),
        key=lambda candidate: (candidate.is_added, -candidate.score, candidate.id),
    )
    nearest = [candidate for candidate in candidates if not candidate.is_added]
    return [*nearest[:limit], *(candidate for candidate in candidates if candidate.is_added)]
