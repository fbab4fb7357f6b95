"""The search indices: episodes, knowledge and procedures, by words and by meaning."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.search import IndexDocument, IndexName, SearchFilter, SearchQuery, SearchResult


class SearchIndex(Protocol):
    """The documents of tenants. Every method acts inside ``scope``: its tenant and, in ``EPISODES``, its user.

    A search finds a document that requires a permission only in a scope that has it. Methods raise
    ``SearchUnavailable`` if the engine does not answer or refuses.
    """

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """Store documents, in place of those with the same ids. They can be found when it returns.

        Either all documents of a call are stored, or it raises and a repetition completes it. Raises
        ``WrongDimension`` for a vector of another length than the index was made for.
        """
        ...

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """Return the candidates of each clause. No text is an error: operators are words, and too long ones are cut."""
        ...

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Delete the chosen documents, whatever permission they require, and return how many there were."""
        ...

    def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """Yield the chosen documents, whatever permission they require, without vectors, in the order of their ids."""
        ...

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Return how many documents are chosen, whatever permission they require."""
        ...
