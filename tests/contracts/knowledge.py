"""Searching documents: what holds on every search engine.

A test class inherits ``KnowledgeContract`` and has a fixture ``index``, as ``tests.contracts.search`` says.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.composition.app import build
from baton.domain.document import Document, DocumentVersion, VersionStatus
from baton.domain.extracted import Chunk
from baton.domain.identity import Scope
from baton.domain.search import IndexName, SearchFilter
from baton.knowledge.chunk_documents import chunk_documents
from baton.ports.search_index import SearchIndex
from baton_testing.fakes.documents import FakeDocuments
from baton_testing.fakes.ports import FakePorts
from tests.contracts.fake_stores import in_memory
from tests.contracts.search import EMBEDDER

AT = datetime(2026, 3, 14, tzinfo=UTC)
TENANTS, AGENTS, PERMISSIONS = ("red", "blue", "green"), ("knowledge", "research"), (None, "pump:read", "mine:read")


@dataclass(frozen=True)
class Shelved:
    """A document of an agent of a tenant."""

    tenant: str
    agent: str
    permission: str | None
    indexed: frozenset[int]
    """The versions of which the index has chunks."""
    active: int | None
    is_deleted: bool
    was_open: bool
    """Whether the index knows nothing of the permission, because the document got it later."""

    def readable(self, scope: Scope, agent: str, tenant: str) -> bool:
        """Whether a reader may get the document's active version."""
        allowed = self.permission is None or self.permission in scope.permissions
        return (self.tenant, self.agent) == (tenant, agent) and allowed and not self.is_deleted


shelved = st.builds(
    Shelved,
    st.sampled_from(TENANTS),
    st.sampled_from(AGENTS),
    st.sampled_from(PERMISSIONS),
    st.frozensets(st.integers(1, 3), max_size=3),
    st.none() | st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)


class KnowledgeContract:
    """What a search in documents does, whatever engine is behind it."""

    async def test_a_reader_finds_active_versions_of_documents_of_the_agent_the_tenant_and_their_permissions(
        self, index: SearchIndex
    ) -> None:
        loop = asyncio.get_running_loop()

        @settings(
            max_examples=self.examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
        )
        @given(
            st.lists(shelved, min_size=1, max_size=8),
            st.sampled_from(TENANTS),
            st.sampled_from(AGENTS),
            st.frozensets(st.sampled_from(["pump:read", "mine:read", "other"])),
            st.booleans(),
        )
        def look(
            documents: list[Shelved], tenant: str, agent: str, permissions: frozenset[str], with_vector: bool
        ) -> None:
            asyncio.run_coroutine_threadsafe(
                self._check(index, documents, tenant, agent, permissions, with_vector=with_vector), loop
            ).result(60)

        await asyncio.to_thread(look)

    examples = 40

    async def _check(
        self,
        index: SearchIndex,
        documents: Sequence[Shelved],
        tenant: str,
        agent: str,
        permissions: frozenset[str],
        *,
        with_vector: bool,
    ) -> None:
        mark = uuid.uuid4().hex[:8]
        records = FakeDocuments()
        for number, each in enumerate(documents):
            await _shelve(index, records, Scope(f"{each.tenant}-{mark}", "librarian"), each, number)
        reader = Scope(f"{tenant}-{mark}", "ada", permissions)
        query = "green paint"
        ports = FakePorts.over(in_memory(), search=index, documents=records, embedder=EMBEDDER)
        search = build(ports).knowledge.search
        found = await search.find(reader, agent, query, EMBEDDER.vector(query) if with_vector else None)
        assert {(each.citation.document_id, each.citation.version) for each in found} == {
            (f"doc-{number}", each.active)
            for number, each in enumerate(documents)
            if each.readable(reader, agent, tenant) and each.active in each.indexed
        }
        assert all(each.citation.agent_id == agent for each in found)
        for name in {each.tenant for each in documents}:
            await index.delete(Scope(f"{name}-{mark}", "librarian"), IndexName.KNOWLEDGE, SearchFilter())


async def _shelve(index: SearchIndex, records: FakeDocuments, scope: Scope, each: Shelved, number: int) -> None:
    version = DocumentVersion(1, VersionStatus.READY, "a.md", "text/markdown", 1, "ada", AT)
    document = Document(
        f"doc-{number}",
        each.agent,
        "Paint",
        AT,
        AT,
        required_permission=each.permission,
        active=replace(version, number=each.active) if each.active is not None else None,
        next=version if each.active is None else None,
        deleted_at=AT if each.is_deleted else None,
    )
    await records.create(scope, document)
    as_indexed = replace(document, required_permission=None) if each.was_open else document
    for indexed in sorted(each.indexed):
        chunk = Chunk(0, f"green paint number {number} for boats, version {indexed} of its page")
        made = chunk_documents(
            as_indexed, replace(version, number=indexed), [chunk], [EMBEDDER.vector(chunk.text)], EMBEDDER.name
        )
        await index.put(scope, IndexName.KNOWLEDGE, made)
