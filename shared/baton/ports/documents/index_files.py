"""The port to the files of the embedded index, one for each owner of documents, for their move to another engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.domain.tenants.identity import Scope, make_stored_scope

OPERATOR = "operator"
"""The user id of scopes for indices whose documents belong to no user."""


@dataclass(frozen=True, slots=True)
class IndexOwner:
    """The owner of the documents in one file."""

    index: IndexName
    tenant_id: str
    name: str
    """The user's id in ``EPISODES``, the agent's id in the other indices."""

    @property
    def scope(self) -> Scope:
        """The scope of the owner's documents."""
        return make_stored_scope(self.tenant_id, self.name if self.index is IndexName.EPISODES else OPERATOR)

    @property
    def filter(self) -> SearchFilter:
        """The filter that chooses all of the owner's documents in its scope."""
        return SearchFilter() if self.index is IndexName.EPISODES else SearchFilter(agent_id=self.name)


class OwnerState(StrEnum):
    """The engine that has an owner's documents."""

    FILE = "file"
    """The embedded index."""
    MOVED = "moved"
    """OpenSearch. A mark has replaced the file."""
    NONE = "none"
    """There is neither a file nor a mark."""


class IndexFile(Protocol):
    """One state of an owner's file. Later writes do not change it.

    Methods raise ``SearchUnavailable``, and ``SearchIndexDamaged`` if the file is damaged.
    """

    owner: IndexOwner
    tag: str
    """The entity tag of the object from which it was read."""

    def list(self) -> AsyncIterator[IndexDocument]:
        """Yield all documents without vectors, in the order of their ids."""

    async def get(self, ids: Collection[str]) -> Sequence[IndexDocument]:
        """Return the documents with these ids, with their vectors. Missing ids are left out."""


class IndexFiles(Protocol):
    """The files of all owners, by keys. Methods raise as those of ``IndexFile`` do."""

    def key(self, owner: IndexOwner) -> str:
        """Return the key of an owner's file."""

    async def remove_marks(self, tenant_id: str | None = None) -> int:
        """Remove the marks of all owners, or of one tenant's, and return their number. The owners get files again."""

    def keys(self, tenant_id: str | None = None) -> AsyncIterator[str]:
        """Yield the keys of all files, or of one tenant's, without those of marks."""

    async def state(self, key: str) -> OwnerState:
        """Return the engine that has the owner's documents now."""

    def open(self, key: str) -> AbstractAsyncContextManager[IndexFile | None]:
        """Open a file to read all of it; None unless the state is ``FILE``."""

    async def mark_moved(self, key: str, tag: str | None) -> bool:
        """Replace the file with this tag (None: no file) by the mark. Return False if another write was faster."""


@dataclass(frozen=True, slots=True)
class MoveClaim:
    """The right to move owners, which one command has at a time."""

    holder: str
    until: float
    """The Unix time, in seconds, from which another command may take the claim."""


class MoveClaims(Protocol):
    """The store of the only claim. Methods raise ``SearchUnavailable``."""

    async def read(self) -> tuple[MoveClaim | None, str | None]:
        """Return the claim and its tag; None for both if nobody has ever claimed."""

    async def write(self, claim: MoveClaim, tag: str | None) -> str | None:
        """Replace the claim with this tag and return the new tag; None if another command was faster."""
