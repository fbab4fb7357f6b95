"""Ports for the search indices, their administration, and embeddings of texts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter, SearchQuery, SearchResult, Vector
from baton.domain.tenants.identity import Scope


class EmbeddingPurpose(StrEnum):
    """The purpose of a vector. Some models make different vectors for questions and for texts that answer them."""

    DOCUMENT = "document"
    """The vector is stored, or compared with vectors of the same purpose."""
    QUERY = "query"
    """The vector is compared with the vectors of documents."""


class Embedder(Protocol):
    """A model that turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """The model's name, stored with vectors because those of different models are not comparable. Empty if off."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors; 0 if embedding is switched off, so that ``embed`` always raises."""

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """Return a vector for each text, in their order. Overlong texts are cut, and large batches split.

        All texts have the same ``purpose``. ``seconds`` is the caller's time limit, if it is short. ``tenant_id`` is
        the owner of the texts: failures that they cause do not affect other tenants.

        Raises ``EmbedderUnavailable``, also after ``seconds`` and for an invalid answer, and ``WrongEmbeddings`` for
        vectors of another length than ``dimensions``, which a repetition would raise again.
        """


class SearchIndex(Protocol):
    """The documents of tenants. Every method acts inside ``scope``: its tenant and, in ``EPISODES``, its user.

    A search finds a document that requires a permission only in a scope that has it. Methods raise
    ``SearchUnavailable`` if the engine does not answer or refuses the request.
    """

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        """Store documents, in place of those with the same ids. They can be found once the method returns.

        An id stays with its agent. Either all documents of a call are stored, or the method raises and a repetition
        completes it. Raises ``WrongDimension`` for a vector of another length than the index was made for, and
        ``SearchIndexFull``.
        """

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        """Return the candidates of each clause. Every text is valid: operators are words, and long texts are cut."""

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Delete the chosen documents, whatever permission they require, and return their number."""

    def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        """Yield the chosen documents, whatever permission they require, without vectors, in the order of their ids."""

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        """Return the number of chosen documents, whatever permission they require."""

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        """Count a part of the tenant's documents in all indices, or of the files that contain them.

        Return the number and the position of the rest. None as the position is the beginning, and in a result the end.
        """

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        """Delete a part of the tenant's documents in all indices.

        Return the number of deleted documents or files, and whether none is left.
        """

    async def fill_percent(self, scope: Scope, agent_id: str) -> int | None:
        """Return the percentage of an agent's space in ``KNOWLEDGE`` that is used.

        None if the space is not limited, and for an agent without documents there.
        """


@dataclass(frozen=True, slots=True)
class IndexState:
    """The version of an index that is searched."""

    index: IndexName
    version: str
    embedder: str | None
    """The model of its vectors; None without vectors."""
    dimensions: int | None
    is_current: bool
    """True if it fits this release and the current embedder. Otherwise a reindex makes a new version."""


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """The result of a reindex."""

    index: IndexName
    version: str
    """The version that is searched now."""
    copied: int
    """Documents of the previous version; 0 for an index that is rebuilt in place."""
    embedded: int
    """Documents whose texts were embedded again."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """The documents of one source."""

    tenant_id: str
    user_id: str
    """The user's id; empty in indices whose documents belong to no user."""
    source_id: str
    documents: int
    without_vectors: int


class Reindexing(Protocol):
    """The rebuild of all tenants' indices."""

    async def reindex(self, index: IndexName, embedder: Embedder) -> ReindexResult:
        """Rebuild an index for this release and ``embedder`` while it is searched and written.

        A repetition continues where an earlier one stopped. Raises ``EmbedderUnavailable`` and ``SearchUnavailable``;
        one owner whose documents cannot be rebuilt does not stop the others.
        """

    async def discard_damaged(self, tenant_id: str, index: IndexName) -> int:
        """Remove a tenant's files that cannot be read, and return their number.

        The caller must index the stored documents of these files again. Raises ``SearchUnavailable``.
        """


class SearchAdministration(Reindexing, Protocol):
    """The administration of all tenants' indices. Methods raise ``SearchUnavailable``, and may be repeated."""

    async def migrate(self, embedder: Embedder) -> Sequence[IndexState]:
        """Make the missing indices, and return the state of all. Existing indices are not changed."""

    def list_sources(self, index: IndexName, tenant_id: str | None = None) -> AsyncIterator[IndexedSource]:
        """Yield the sources of all documents, or of one tenant's, ordered by tenant, user and source."""
