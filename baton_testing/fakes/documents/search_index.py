"""The search indices, in memory."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from baton.domain.documents.search import (
    Candidate,
    IndexDocument,
    IndexedText,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
    Vector,
    add_scored,
    find_unscored,
)
from baton.domain.documents.search_words import index_words, to_search_form
from baton.domain.errors import WrongDimension
from baton.domain.tenants.identity import Scope
from baton.domain.text import find_codes
from baton.domain.times import from_millis, to_millis
from baton_testing.fakes.documents.embedder import DIMENSIONS

_Owner = tuple[IndexName, str, str]
"""Index, tenant and, in ``EPISODES``, user."""


@dataclass
class FakeSearchIndex:
    """``ports.documents.search.SearchIndex``. Whole words are compared by BM25."""

    dimensions: int = DIMENSIONS
    documents: dict[_Owner, dict[str, IndexDocument]] = field(default_factory=dict)
    searches: list[tuple[Scope, IndexName, SearchQuery]] = field(default_factory=list)
    failure: Exception | None = None
    """The error that every method raises."""
    seconds: float = 0.0
    """Seconds that every method takes."""

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        await self._answer()
        for document in documents:
            for view in document.views.values():
                self._check(view.vector)
        of_owner = self.documents.setdefault(_make_owner(scope, index), {})
        of_owner.update(
            {document.id: replace(document, at=from_millis(to_millis(document.at))) for document in documents}
        )

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        self.searches.append((scope, index, query))
        await self._answer()
        self._check(query.vector)
        readable = [
            document
            for document in self._choose(scope, index, query.filter)
            if document.required_permission is None or scope.has(document.required_permission)
        ]
        candidates: dict[SearchClause, Sequence[Candidate]] = {
            clause: _choose_best(_compute_scores(clause, query, readable), query.candidates)
            for clause in dict.fromkeys(query.clauses)
        }
        for clause, lacking in find_unscored(query, candidates).items():
            scored = {score.id: score.score for score in _compute_scores(clause, query, readable)}
            candidates[clause] = add_scored(candidates[clause], scored, lacking)
        ids = query.select_ids(candidates)
        return SearchResult(
            candidates, {document.id: _drop_vectors(document) for document in readable if document.id in ids}
        )

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        await self._answer()
        deleted = [document.id for document in self._choose(scope, index, chosen)]
        for document_id in deleted:
            del self.documents[_make_owner(scope, index)][document_id]
        return len(deleted)

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        await self._answer()
        for document in sorted(self._choose(scope, index, chosen), key=lambda document: document.id):
            yield _drop_vectors(document)

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        await self._answer()
        return len(list(self._choose(scope, index, chosen)))

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        await self._answer()
        own = sorted(owner for owner in self.documents if owner[1] == scope.tenant_id)
        number = int(position or 0)
        following = str(number + 1) if number + 1 < len(own) else None
        return sum(len(self.documents[owner]) for owner in own[number : number + 1]), following

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        await self._answer()
        own = sorted(owner for owner in self.documents if owner[1] == scope.tenant_id)
        number = sum(len(self.documents.pop(owner)) for owner in own[:1])
        return number, len(own) <= 1

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        await self._answer()
        return None

    def _choose(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> Iterator[IndexDocument]:
        for document in self.documents.get(_make_owner(scope, index), {}).values():
            if (
                chosen.agent_id in (None, document.agent_id)
                and chosen.thread_id in (None, document.thread_id)
                and chosen.source_id in (None, document.source_id)
                and (not chosen.kinds or document.kind in chosen.kinds)
                and (chosen.since is None or document.at >= chosen.since)
                and (chosen.until is None or document.at < chosen.until)
            ):
                yield document

    def _check(self, vector: Vector | None) -> None:
        if vector is not None and len(vector) != self.dimensions:
            raise WrongDimension

    async def _answer(self) -> None:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure


def _make_owner(scope: Scope, index: IndexName) -> _Owner:
    return index, scope.tenant_id, scope.user_id if index is IndexName.EPISODES else ""


def _drop_vectors(document: IndexDocument) -> IndexDocument:
    return replace(document, views={name: IndexedText(view.text) for name, view in document.views.items()})


def _compute_scores(clause: SearchClause, query: SearchQuery, documents: Sequence[IndexDocument]) -> list[Candidate]:
    views = {document.id: document.views[clause.view] for document in documents if clause.view in document.views}
    sources = {document.id: document.source_id for document in documents}
    if clause.signal is Signal.MEANING:
        if query.vector is None:
            return []
        return [
            Candidate(name, sum(a * b for a, b in zip(query.vector, view.vector, strict=True)), sources[name])
            for name, view in views.items()
            if view.vector is not None
        ]
    codes = find_codes(to_search_form(query.text))
    words = {name: Counter([*index_words(view.text), *_list_codes(view.text, codes)]) for name, view in views.items()}
    spread = Counter(word for counted in words.values() for word in counted)
    mean = sum(counted.total() for counted in words.values()) / max(1, len(words))
    # BM25 with k1 = 1.2 and b = 0.75: 0.3 is k1 * (1 - b), and 0.9 is k1 * b.
    return [
        Candidate(name, score, sources[name])
        for name, counted in words.items()
        if (
            score := sum(
                math.log(1 + len(views) / spread[word])
                * counted[word]
                / (counted[word] + 0.3 + 0.9 * counted.total() / mean)
                for word in {*index_words(query.text), *codes}
                if word in counted
            )
        )
    ]


def _choose_best(candidates: list[Candidate], limit: int) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id))[:limit]


def _list_codes(text: str, codes: Sequence[str]) -> list[str]:
    """Return the codes in a text, each as often as it occurs."""
    row = f" {' '.join(index_words(text))} "
    return [code for code in codes for _ in range(row.count(f" {' '.join(index_words(code))} "))]
