"""``SearchIndex`` on OpenSearch."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from baton.adapters.opensearch.clause_searches import Conditions, build_clause_search, convert_score, read_hits
from baton.adapters.opensearch.definitions import (
    DEFAULT_LAYOUT,
    WORDS_SINCE,
    Layout,
    NoIndices,
    Version,
    Versions,
    add_views,
)
from baton.adapters.opensearch.documents import (
    derive_engine_id,
    from_source,
    make_filter_conditions,
    make_permission_condition,
    make_tenant_condition,
    to_source,
)
from baton.adapters.opensearch.engine import (
    NEWER_EXISTS,
    Engine,
    EngineError,
    check_is_complete,
    make_index_operation,
    send_bulk,
    to_engine_error,
)
from baton.domain.documents.search import (
    Candidate,
    IndexDocument,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    add_scored,
    find_unscored,
)
from baton.domain.errors import SearchUnavailable, WrongDimension
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.text import replace_surrogates
from baton.ports.clock import Clock

logger = logging.getLogger(__name__)

SEARCH_SECONDS = 2.0
"""The time limit of a search by the HTTP API. A turn waits less, because recall has its own deadline."""
QUERY_CHARACTERS = 1000
"""The length to which a query is cut, in characters."""
PAGE = 200
"""The number of documents on a page of a listing."""
DELETED_AT_ONCE = 2000
"""The number of documents that one request deletes."""
MAX_FRUITLESS_PASSES = 10
"""The number of passes of a deletion that delete nothing because of other writers, before it fails."""
VECTOR_FIELDS = "views.*.vector"


class OpenSearchIndex:
    """``SearchIndex`` on OpenSearch. Documents are routed by tenant, so that a search asks one shard."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        layout: Layout = DEFAULT_LAYOUT,
        embedder: str | None = None,
        search_seconds: float = SEARCH_SECONDS,
    ) -> None:
        """``embedder`` is the model of queries' vectors, which are compared only with vectors of the same model."""
        self.engine = engine
        self._clock = clock
        self.layout = layout
        self._embedder = embedder
        self._search_seconds = search_seconds
        self._versions = Versions(engine, layout)

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """See ``SearchIndex``.

        A version leaves out vectors of another model than its own. The document is found there by its words, and by its
        meaning after a reindex.
        """
        if not documents:
            return
        with _note_failures():
            try:
                await self._put(scope, index, documents)
            except EngineError as problem:
                if problem.kind != "index_not_found_exception":
                    raise
                # Again, because a version was deleted after its name was read.
                await self._put(scope, index, documents)

    async def _put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """Store the documents in every version that is written. Raises as ``put``, and ``EngineError``."""
        now = self._clock.now()
        for version in await self._versions.list_written(index):
            operations = []
            await add_views(self.engine, version, {view for document in documents for view in document.views})
            alias = self.layout.make_write_alias(index, version.number)
            has_words = version.mapping_version >= WORDS_SINCE
            for document in documents:
                with_vectors = _vectors_fit(document, version)
                source = to_source(scope, index, document, now, with_vectors=with_vectors, with_words=has_words)
                # The latest write wins, even over a reindex that later copies an older document.
                operations.append(
                    make_index_operation(alias, derive_engine_id(scope, index, document.id), scope.tenant_id, source)
                )
            try:
                await send_bulk(self.engine, operations, refresh="wait_for", accepted=NEWER_EXISTS)
            except EngineError as problem:
                if "dimension" in problem.reason.lower():
                    raise WrongDimension from problem
                raise

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """See ``SearchIndex``.

        One request runs the clauses, and another fetches the selected documents. In indices of more documents than a
        clause returns, a request between them scores candidates by meaning that only words have found. The sources of
        candidates come from their sort values, so that no document is read for them.
        """
        with _note_failures():
            return await self._find(scope, index, query)

    async def _find(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """Return the result of a search. Raises as ``search`` does."""
        alias = self.layout.make_read_alias(index)
        text = replace_surrogates(query.text[:QUERY_CHARACTERS])
        conditions = [*make_filter_conditions(scope, index, query.filter), make_permission_condition(scope)]
        candidates: dict[SearchClause, Sequence[Candidate]] = dict.fromkeys(query.clauses, ())
        bodies = {clause: self._build_search(clause, text, query, conditions) for clause in candidates}
        if query.candidates <= 0 or not any(bodies.values()):
            return SearchResult(candidates, {})
        engine_ids: dict[str, str] = {}
        for clause, hits in (await self._search(scope, alias, bodies)).items():
            candidates[clause] = [
                Candidate(id_, convert_score(clause, score), source_id)
                for score, id_, source_id in (hit["sort"] for hit in hits)
            ]
            engine_ids.update((hit["sort"][1], hit["_id"]) for hit in hits)
        await self._add_scores(scope, alias, query, conditions, candidates, engine_ids)
        selected_ids = query.select_ids(candidates)
        documents = await self._fetch(scope, alias, {id_: engine_ids[id_] for id_ in selected_ids})
        # A document may have been deleted between the two requests.
        deleted_ids = selected_ids - documents.keys()
        present = {
            clause: [candidate for candidate in ranking if candidate.id not in deleted_ids]
            for clause, ranking in candidates.items()
        }
        return SearchResult(present, documents)

    async def _add_scores(
        self,
        scope: Scope,
        alias: str,
        query: SearchQuery,
        conditions: Conditions,
        candidates: dict[SearchClause, Sequence[Candidate]],
        engine_ids: Mapping[str, str],
    ) -> None:
        """Add candidates that only clauses by words have found to the clauses by meaning, with their scores.

        It takes one request if any score is missing. The request names the documents, so that OpenSearch compares all
        of them exactly, without its graph.
        """
        missing = find_unscored(query, candidates)
        if not missing:
            return
        bodies = {}
        for clause, unscored in missing.items():
            ids_condition = {"ids": {"values": [engine_ids[candidate.id] for candidate in unscored]}}
            scoring_query = replace(query, candidates=len(unscored))
            bodies[clause] = self._build_search(clause, "", scoring_query, [*conditions, ids_condition])
        for clause, hits in (await self._search(scope, alias, bodies)).items():
            scored = {id_: convert_score(clause, score) for score, id_, _ in (hit["sort"] for hit in hits)}
            candidates[clause] = add_scored(candidates[clause], scored, missing[clause])

    async def _search(
        self, scope: Scope, alias: str, bodies: Mapping[SearchClause, dict[str, Any] | None]
    ) -> dict[SearchClause, list[dict[str, Any]]]:
        """Run the searches of clauses in one request, and return their hits. A search that is None is left out."""
        header = {"index": alias, "routing": scope.tenant_id, "allow_partial_search_results": False}
        searches = {clause: body for clause, body in bodies.items() if body is not None}
        lines = [line for body in searches.values() for line in (header, body)]
        answer = await self.engine.post_lines("/_msearch", lines, seconds=self._search_seconds)
        return {
            clause: read_hits(response, clause) for clause, response in zip(searches, answer["responses"], strict=True)
        }

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """See ``SearchIndex``. It deletes in every version, and in the searched one first."""
        with _note_failures():
            return await self._delete_everywhere(scope, index, make_filter_conditions(scope, index, chosen))

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """See ``SearchIndex``. The engine counts all documents at once, so there is never a position."""
        with _note_failures():
            counts = [await self._count(scope, index, [make_tenant_condition(scope)]) for index in IndexName]
        return sum(counts), None

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """See ``SearchIndex``. It deletes documents of one version of an index. Those of the searched version count.

        Raises ``SearchUnavailable`` if other writers change the documents in each of ``MAX_FRUITLESS_PASSES``.
        """
        with _note_failures():
            for index in IndexName:
                for version in await self._list_versions(index):
                    try:
                        number = await self._sweep_some(version, scope)
                    except EngineError as problem:
                        if _is_gone(problem, version):
                            continue
                        raise
                    if number:
                        return number if version.is_read else 0, False
        return 0, True

    async def _sweep_some(self, version: Version, scope: Scope) -> int:
        """Delete some of the tenant's documents in a version. Return their number, which is 0 if none is left.

        Raises ``EngineError``, and ``SearchUnavailable`` after passes that deleted nothing because of other writers.
        """
        for _ in range(MAX_FRUITLESS_PASSES):
            number, has_conflicts = await self._delete_some(version, scope, [make_tenant_condition(scope)])
            if number or not has_conflicts:
                return number
        raise SearchUnavailable

    async def _list_versions(self, index: IndexName) -> Sequence[Version]:
        """Return the versions of an index, the searched one first. Raises ``NoIndices``."""
        versions = await self._versions.list_all(index)
        if not any(version.is_read for version in versions):
            raise NoIndices
        return sorted(versions, key=lambda version: not version.is_read)

    async def _delete_everywhere(self, scope: Scope, index: IndexName, conditions: Conditions) -> int:
        """Delete documents in all versions. Return the number of those in the searched version."""
        deleted = 0
        for version in await self._list_versions(index):
            try:
                count = await self._delete(version, scope, conditions)
            except EngineError as problem:
                if _is_gone(problem, version):
                    continue
                raise
            if version.is_read:
                deleted = count
        return deleted

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        body: dict[str, Any] = {
            "size": PAGE,
            "query": {"bool": {"filter": make_filter_conditions(scope, index, chosen)}},
            "sort": [{"id": "asc"}],
            "_source": {"excludes": [VECTOR_FIELDS]},
        }
        alias = self.layout.make_read_alias(index)
        with _note_failures():
            async for hits in self.engine.read_pages(alias, body, routing=scope.tenant_id):
                for hit in hits:
                    yield from_source(hit["_source"])

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        with _note_failures():
            return await self._count(scope, index, make_filter_conditions(scope, index, chosen))

    async def _count(self, scope: Scope, index: IndexName, conditions: Conditions) -> int:
        answer = await self.engine.request(
            "POST",
            f"/{self.layout.make_read_alias(index)}/_count",
            {"query": {"bool": {"filter": [*conditions]}}},
            routing=scope.tenant_id,
        )
        check_is_complete(answer)
        return int(answer["count"])

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        """See ``SearchIndex``. It is None, because OpenSearch has no bound."""

    def _build_search(
        self, clause: SearchClause, text: str, query: SearchQuery, conditions: Conditions
    ) -> dict[str, Any] | None:
        return build_clause_search(
            clause, text, query, conditions, embedder=self._embedder, seconds=self._search_seconds
        )

    async def _fetch(self, scope: Scope, alias: str, engine_ids: dict[str, str]) -> dict[str, IndexDocument]:
        """Return the documents that still exist, by id. ``engine_ids`` are OpenSearch's ids, by id."""
        if not engine_ids:
            return {}
        answer = await self.engine.request(
            "POST",
            f"/{alias}/_mget",
            {"ids": list(engine_ids.values())},
            seconds=self._search_seconds,
            routing=scope.tenant_id,
            realtime=False,
            _source_excludes=VECTOR_FIELDS,
        )
        documents = {}
        for entry in answer["docs"]:
            if "error" in entry:
                raise to_engine_error(None, entry["error"])
            if entry.get("found"):
                document = from_source(entry["_source"])
                documents[document.id] = document
        return documents

    async def _delete(self, version: Version, scope: Scope, conditions: Conditions) -> int:
        """Delete the documents of a version, and return their number. Raises ``SearchUnavailable``."""
        deleted, fruitless_passes = 0, 0
        while fruitless_passes < MAX_FRUITLESS_PASSES:
            number, has_conflicts = await self._delete_some(version, scope, conditions)
            deleted += number
            if not number and not has_conflicts:
                await self.engine.request("POST", f"/{version.name}/_refresh")
                return deleted
            fruitless_passes = 0 if number else fruitless_passes + 1
        raise SearchUnavailable

    async def _delete_some(self, version: Version, scope: Scope, conditions: Conditions) -> tuple[int, bool]:
        """Delete some documents of a version. Return their number, and whether others have changed meanwhile.

        Raises ``SearchUnavailable`` and ``EngineError``.
        """
        await self.engine.request("POST", f"/{version.name}/_refresh")
        answer = await self.engine.request(
            "POST",
            f"/{version.name}/_delete_by_query",
            {"query": {"bool": {"filter": [*conditions]}}},
            routing=scope.tenant_id,
            conflicts="proceed",
            max_docs=DELETED_AT_ONCE,
        )
        if answer.get("failures") or answer.get("timed_out"):
            logger.warning("A deletion was not finished: %s", str(answer.get("failures"))[:500])
            raise SearchUnavailable
        return int(answer["deleted"]), bool(answer["version_conflicts"])


@contextmanager
def _note_failures() -> Iterator[None]:
    """Count and log a ``SearchUnavailable`` that leaves the block, and raise it again.

    ``WrongDimension`` is not counted, because callers then search by words until the index is rebuilt.
    """
    try:
        yield
    except WrongDimension:
        raise
    except SearchUnavailable as failure:
        count(Metric.SEARCHES_FAILED)
        reason = failure if isinstance(failure, EngineError) else failure.__cause__ or failure
        logger.warning("OpenSearch failed: %s", reason)
        raise


def _is_gone(problem: EngineError, version: Version) -> bool:
    """Return whether a version that is not searched has been removed meanwhile."""
    return problem.kind == "index_not_found_exception" and not version.is_read


def _vectors_fit(document: IndexDocument, version: Version) -> bool:
    """Return whether the document's vectors may be those of the version's model. Raises ``WrongDimension``."""
    if version.model is None or (document.embedder is not None and document.embedder != version.model.name):
        return False
    for view in document.views.values():
        if view.vector is not None and len(view.vector) != version.model.dimensions:
            raise WrongDimension
    return True
