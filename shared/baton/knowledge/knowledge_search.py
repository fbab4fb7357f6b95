"""Search the documents and libraries of one agent, by words and by meaning.

Only chunks that the documents' records allow are returned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import nextafter

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import gather_all
from baton.domain.documents.document import Document, parse_chunk_source_id
from baton.domain.documents.numbered_passages import Citation
from baton.domain.documents.search import (
    MAX_QUERY,
    Candidate,
    Candidates,
    IndexDocument,
    IndexName,
    Ranked,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
    Vector,
    fuse,
    fuse_scores,
)
from baton.domain.errors import EmbedderUnavailable, WrongDimension
from baton.domain.memory.found_item import FoundItem, ItemSource, put_below_header
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.knowledge.chunk_documents import CHUNK, PASSAGES, find_position, find_table_header
from baton.knowledge.exact_terms import find_lone_terms, find_whole_matches, has_term, is_long_number
from baton.knowledge.passages import drop_near_duplicates, split_passages
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.search import Embedder, EmbeddingPurpose, SearchIndex
from baton_documents.media_types import XLSX

logger = Logger(child=True)

WORDS, MEANING = SearchClause(CHUNK, Signal.WORDS), SearchClause(CHUNK, Signal.MEANING)
PASSAGE_MEANINGS = tuple(SearchClause(view, Signal.MEANING) for view in PASSAGES)
_MEANING_NAME = f"{CHUNK}.{Signal.MEANING}"
WEIGHTS: Mapping[SearchClause, float] = {WORDS: 0.4, MEANING: 0.6}
"""The weights of words and meaning. By meaning, a chunk counts as its most similar passage."""
LEAST_SPREAD = 0.25
"""Similarities of passages that differ by less are not spread over the whole scale (see ``fuse_scores``)."""
CANDIDATES = 100
"""The number of chunks that each signal returns."""
MAX_FETCHED = 100
"""The number of chunks that are fetched and checked. Chunks of inactive versions are then dropped."""
MAX_FOUND = 40
"""The number of chunks from which a prompt's items are chosen. The inspector shows them all."""
FIRST = 5
"""The number of chunks that a prompt has by default. Chunks with a code or name of the question come first."""
MAX_CHECKED = 100
"""The number of documents whose records are read: those of the best chunks."""
EMBEDDING_DEADLINE = timedelta(seconds=5)
"""The time after which the query is searched by words alone."""


@dataclass(frozen=True, slots=True)
class FoundChunks:
    """The answer to a search, best first."""

    chunks: Sequence[FoundItem] = ()
    words_only: str | None = None
    """The reason why the query was not compared by meaning; None if it was."""


@dataclass(frozen=True, slots=True)
class _Collection:
    """Documents that are searched together: an agent's own, or a library."""

    scope: Scope
    owner: str
    """The agent's id, or the library's name."""
    library: str | None = None
    """The library's name; None for an agent's documents."""

    def name_chunk(self, chunk_id: str) -> str:
        """Return a chunk's id among those of several collections, whose tenants may choose equal ids."""
        return chunk_id if self.library is None else f"{self.library}/{chunk_id}"


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """A search in the documents of one agent at a time, and in the libraries that it lists, with one ranking.

    The documents' records decide which results of the index count: a chunk counts only if its version is active, its
    document is not deleted, and the caller has the document's permission. The records are read by one request for the
    agent and one for each library in which chunks were found.
    """

    index: SearchIndex
    documents: DocumentStore
    embedder: Embedder
    embedding_deadline: timedelta = EMBEDDING_DEADLINE

    async def find(
        self,
        scope: Scope,
        agent_id: str,
        query: str,
        vector: Vector | None,
        *,
        libraries: Sequence[str] = (),
        limit: int = MAX_FOUND,
    ) -> tuple[FoundItem, ...]:
        """Return at most ``limit`` chunks, best first, without near duplicates; ``vector`` is the query's embedding.

        ``libraries`` are the agent's libraries, which are searched at the same time.

        Raises ``SearchUnavailable``, ``StoreUnavailable``, and ``WrongDimension`` if the index was made for another
        embedding model.
        """
        clauses = (WORDS, MEANING, *PASSAGE_MEANINGS) if vector is not None else (WORDS,)
        project = ProjectScope(permissions=scope.permissions)
        collections = [_Collection(scope, agent_id), *(_Collection(project, name, name) for name in libraries)]
        result, owners = await self._search_all(collections, SearchQuery(query[:MAX_QUERY], vector, clauses))
        candidates, passages = _merge_meanings(result.candidates)
        ranked = fuse(SearchResult(candidates, result.documents), WEIGHTS, LEAST_SPREAD)
        if not ranked:
            return ()
        records = await self._read_records(ranked, owners)
        usable = [chunk for chunk in ranked if _is_usable(scope, chunk, records.get(chunk.document.id))]
        ranking = drop_near_duplicates(usable[: 2 * limit], _choose_text)
        texts = [_make_searched_text(ranked) for ranked in ranking]
        matches = find_whole_matches(query, texts)
        terms = find_lone_terms(query, texts)
        found_items = [
            self._to_found_item(
                chunk,
                records[chunk.document.id],
                (agent_id, owners[chunk.document.id].library),
                passages.get(chunk.document.id),
                query,
                (query,) if index in matches else lone_terms,
            )
            for index, (chunk, lone_terms) in enumerate(zip(ranking, terms, strict=True))
        ]
        return tuple(_rank_matches_first(_rank_terms_first(found_items), query)[:limit])

    async def _search_all(
        self, collections: Sequence[_Collection], query: SearchQuery
    ) -> tuple[SearchResult, Mapping[str, _Collection]]:
        """Search several collections as one. Return the result, and the collection of each chunk by the chunk's id."""

        def search(collection: _Collection) -> Awaitable[SearchResult]:
            owner_query = replace(
                query, filter=SearchFilter(agent_id=collection.owner), candidates=CANDIDATES, choose=_select_best_chunks
            )
            return self.index.search(collection.scope, IndexName.KNOWLEDGE, owner_query)

        results = await gather_all(*map(search, collections))
        if len(collections) == 1:
            return results[0], dict.fromkeys(results[0].documents, collections[0])
        merged: dict[SearchClause, list[Candidate]] = {}
        documents: dict[str, IndexDocument] = {}
        owners: dict[str, _Collection] = {}
        for collection, result in zip(collections, results, strict=True):
            for clause, ranking in result.candidates.items():
                renamed = (replace(candidate, id=collection.name_chunk(candidate.id)) for candidate in ranking)
                merged.setdefault(clause, []).extend(renamed)
            for chunk_id, document in result.documents.items():
                name = collection.name_chunk(chunk_id)
                documents[name], owners[name] = replace(document, id=name), collection
        for clause, ranking in merged.items():
            ranking.sort(key=lambda candidate: (-candidate.score, candidate.id))
            if clause.signal is Signal.WORDS:
                del ranking[CANDIDATES:]
        return SearchResult(merged, documents), owners

    async def _read_records(
        self, ranked: Sequence[Ranked], owners: Mapping[str, _Collection]
    ) -> Mapping[str, Document]:
        """Return the records of the best chunks' documents, by the id of the chunk."""
        documents = {chunk.document.id: (owners[chunk.document.id], _split_source(chunk)[0]) for chunk in ranked}
        ids_by_collection: dict[_Collection, list[str]] = {}
        for collection, document_id in list(dict.fromkeys(documents.values()))[:MAX_CHECKED]:
            ids_by_collection.setdefault(collection, []).append(document_id)
        answers = await gather_all(
            *(
                self.documents.get_many(collection.scope, collection.owner, ids)
                for collection, ids in ids_by_collection.items()
            )
        )
        records = dict(zip(ids_by_collection, answers, strict=True))
        return {
            chunk_id: records[collection][document_id]
            for chunk_id, (collection, document_id) in documents.items()
            if collection in records and document_id in records[collection]
        }

    async def search(
        self, scope: Scope, agent_id: str, query: str, *, libraries: Sequence[str] = (), limit: int
    ) -> FoundChunks:
        """Embed a query and return the found chunks, as for a turn.

        If the query cannot be embedded in time, words decide alone. Raises ``SearchUnavailable`` and
        ``StoreUnavailable``.
        """
        query = query.strip()[:MAX_QUERY]
        if not query or limit < 1:
            return FoundChunks()
        vector, words_only = await self._embed(scope, query)
        try:
            found_items = await self.find(scope, agent_id, query, vector, libraries=libraries)
        except WrongDimension as error:
            if vector is None:
                raise
            words_only = f"{error.code}: searched by words only"
            count(Metric.RECALLS_INCOMPLETE)
            found_items = await self.find(scope, agent_id, query, None, libraries=libraries)
        return FoundChunks(found_items[:limit], words_only)

    def _to_found_item(
        self,
        ranked: Ranked,
        record: Document,
        owner: tuple[str, str | None],
        passage: int | None,
        query: str,
        terms: tuple[str, ...],
    ) -> FoundItem:
        """Return a found chunk; ``owner`` is the agent that searches, with the library that has the chunk, if any."""
        agent_id, library = owner
        chunk = ranked.document
        text = _choose_text(ranked)
        passages = split_passages(text)
        if terms:
            passage = next((index for index, part in enumerate(passages) if has_term(part, terms)), passage)
        position = find_position(text, chunk.fields, passage, query[:MAX_QUERY])
        header = find_table_header(chunk, text)
        # An earlier release may have divided the chunk into other passages.
        best = passages[passage] if passage is not None and passage < len(passages) else None
        citation = Citation(
            document_id=record.id,
            title=record.title,
            agent_id=agent_id,
            version=_split_source(ranked)[1],
            chunk_id=chunk.id,
            section=position.section,
            first_page=position.first_page,
            last_page=position.last_page,
            url=record.url,
            library=library,
            page_unit="sheet" if record.active is not None and record.active.content_type == XLSX else "page",
        )
        return FoundItem(
            id=chunk.id,
            kind=CHUNK,
            title=record.title,
            text=text,
            at=chunk.at,
            score=ranked.score,
            signals=ranked.signals,
            # Vectors of another model are not comparable with the query's.
            cosine=ranked.signals.get(_MEANING_NAME) if chunk.embedder == self.embedder.name else None,
            by_words=_MEANING_NAME in ranked.added,
            source=ItemSource(document_id=record.id, agent_id=agent_id, citation=citation),
            table_header=header,
            passage=put_below_header(header, best) if best is not None else None,
            terms=terms,
        )

    async def _embed(self, scope: Scope, query: str) -> tuple[Vector | None, str | None]:
        """Return the query's vector, or None and the reason why there is none; no reason if embedding is off."""
        if not self.embedder.dimensions:
            return None, None
        try:
            async with asyncio.timeout(self.embedding_deadline.total_seconds()):
                [vector] = await self.embedder.embed([query], purpose=EmbeddingPurpose.QUERY, tenant_id=scope.tenant_id)
            return vector, None
        except TimeoutError:
            count(Metric.RECALLS_INCOMPLETE)
            return None, "the embedding took too long: searched by words only"
        except EmbedderUnavailable as error:
            logger.warning("a query could not be embedded", reason=error.detail)
            count(Metric.RECALLS_INCOMPLETE)
            return None, f"{error.code}: searched by words only"


def _select_best_chunks(candidates: Candidates) -> list[str]:
    scores = fuse_scores(_merge_meanings(candidates)[0], WEIGHTS, LEAST_SPREAD)
    return sorted(scores, key=lambda id_: (-scores[id_], id_))[:MAX_FETCHED]


def _merge_meanings(candidates: Candidates) -> tuple[Candidates, Mapping[str, int]]:
    """Return the candidates with one ranking by meaning, in which each chunk has the best similarity of its texts.

    Also return, for chunks with passages, the index of the most similar passage.
    """
    best: dict[str, Candidate] = {}
    passages: dict[str, int] = {}
    for number, clause in enumerate((MEANING, *PASSAGE_MEANINGS), start=-1):
        for candidate in candidates.get(clause, ()):
            if candidate.id not in best or candidate.score > best[candidate.id].score:
                best[candidate.id] = candidate
                if number >= 0:
                    passages[candidate.id] = number
    words = candidates.get(WORDS, ())
    by_words = {word.id for word in words}
    ordered = sorted(best.values(), key=lambda candidate: (-candidate.score, candidate.id))
    nearest = [replace(candidate, is_added=False) for candidate in ordered[:CANDIDATES]]
    added = [replace(candidate, is_added=True) for candidate in ordered[CANDIDATES:] if candidate.id in by_words]
    return {WORDS: words, MEANING: [*nearest, *added]}, passages


def _is_usable(scope: Scope, ranked: Ranked, record: Document | None) -> bool:
    """Return whether the record of a chunk's document allows the caller to use the chunk."""
    if record is None or record.in_use is None or record.in_use.number != _split_source(ranked)[1]:
        return False
    return record.required_permission is None or scope.has(record.required_permission)


def _rank_terms_first(items: list[FoundItem]) -> list[FoundItem]:
    """Return ranked chunks in an order in which the best chunks with ``terms`` are among the first ``FIRST``.

    Scores change as little as this order requires, because they are compared with scores of other searches.
    """
    promoted = {item.id for item in [item for item in items if item.terms][:FIRST]}
    if promoted <= {item.id for item in items[:FIRST]}:
        return items
    others = [item for item in items if item.id not in promoted]
    displaced = {item.id for item in others[FIRST - len(promoted) :]}
    boundary = others[FIRST - len(promoted)].score
    below_boundary = max(0.0, nextafter(boundary, 0.0))

    def with_new_score(item: FoundItem) -> FoundItem:
        if item.id in promoted:
            return replace(item, score=max(item.score, boundary))
        return replace(item, score=min(item.score, below_boundary)) if item.id in displaced else item

    return sorted(map(with_new_score, items), key=lambda item: (-item.score, item.id not in promoted))


def _rank_matches_first(items: list[FoundItem], query: str) -> list[FoundItem]:
    """Return ranked chunks, those first that contain the whole query, or that alone contain a long number of it.

    Embedding models rank such chunks badly in scripts that they do not know.
    """
    best = items[0].score if items else 0.0
    matches = {item.id for item in items if item.terms == (query,) or any(map(is_long_number, item.terms))}
    rated = [replace(item, score=best) if item.id in matches else item for item in items]
    return sorted(rated, key=lambda item: (-item.score, item.id not in matches))


def _split_source(ranked: Ranked) -> tuple[str, int]:
    """Return the document's id and the version of a chunk; the version is -1 if the id is not that of a chunk."""
    try:
        return parse_chunk_source_id(ranked.document.source_id)
    except ValueError:
        return ranked.document.source_id, -1


def _make_searched_text(ranked: Ranked) -> str:
    """Return the text that a chunk is searched by, with title, headings and table header."""
    view = ranked.document.views.get(CHUNK)
    return view.text if view is not None else _choose_text(ranked)


def _choose_text(ranked: Ranked) -> str:
    text = ranked.document.fields.get("text")
    if isinstance(text, str) and text:
        return text
    return next((view.text for view in ranked.document.views.values()), "")
