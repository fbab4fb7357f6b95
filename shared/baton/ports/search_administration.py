"""What an operator does with a search index: make it, rebuild it, and compare it with its sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from baton.domain.search import IndexName
from baton.ports.embedder import Embedder


@dataclass(frozen=True, slots=True)
class IndexState:
    """The version of an index that is searched."""

    index: IndexName
    version: str
    embedder: str | None
    """The model of its vectors; None without vectors."""
    dimensions: int | None
    is_current: bool
    """Whether it is as this release and the present embedder want it. If not, a reindex makes a new version."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a reindex has done."""

    index: IndexName
    version: str
    """The version that is searched now."""
    copied: int
    """Documents of the version before; 0 for an index that is rebuilt in place."""
    embedded: int
    """Documents whose texts were embedded anew."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """The documents of one source."""

    tenant_id: str
    user_id: str
    """Empty in indices that belong to a tenant."""
    source_id: str
    documents: int
    without_vectors: int


class Reindexing(Protocol):
    """Rebuilds the indices of all tenants."""

    async def reindex(self, index: IndexName, embedder: Embedder) -> Reindexed:
        """Rebuild an index for this release and ``embedder`` while it is searched and written.

        A repetition goes on where an earlier one stopped. Raises ``EmbedderUnavailable`` and ``SearchUnavailable``.
        """
        ...


class SearchAdministration(Reindexing, Protocol):
    """Acts on the indices of all tenants. Methods raise ``SearchUnavailable``, and may be repeated."""

    async def migrate(self, embedder: Embedder) -> Sequence[IndexState]:
        """Make the indices that are missing, and return the state of all. Existing ones are not changed."""
        ...

    def sources(self, index: IndexName) -> AsyncIterator[IndexedSource]:
        """Yield the sources of all documents, ordered by tenant, user and source."""
        ...
