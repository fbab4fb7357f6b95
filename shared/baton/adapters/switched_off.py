"""Search and embeddings of a deployment that has none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter, SearchQuery, SearchResult, Vector
from baton.domain.errors import EmbedderUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.documents.search import EmbeddingPurpose


class NoEmbedder:
    """``ports.documents.search.Embedder`` without a model: texts are searched by their words only."""

    name = ""
    dimensions = 0

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """Return nothing for no texts. Raises ``EmbedderUnavailable`` for any others."""
        if texts:
            raise EmbedderUnavailable
        return ()


class NoSearch:
    """``ports.documents.search.SearchIndex`` that stores nothing and finds nothing.

    Episodes are still written, and can be indexed later.
    """

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """Store nothing."""

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """Find nothing."""
        return SearchResult(dict.fromkeys(query.clauses, ()), {})

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Delete nothing."""
        return 0

    async def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """Yield nothing."""
        return
        yield  # makes this a generator, as the port requires

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Count nothing."""
        return 0

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """Count nothing."""
        return 0, None

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """Delete nothing."""
        return 0, True

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        """Return None, because there is no file."""
