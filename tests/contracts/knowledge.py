"""Searching documents: what holds on every search engine.

A test class inherits ``KnowledgeContract`` and has a fixture ``index``, as ``tests.contracts.search`` says.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.composition.app import build
from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.domain.documents.search import IndexName, SearchFilter, Vector
from baton.domain.tenants.identity import Scope
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.ports.documents.search import SearchIndex
from baton_documents.chunks.chunk import Chunk
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.search import EMBEDDER
from tests.fakes.ports import FakePorts

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

    def is_readable(self, scope: Scope, agent: str, tenant: str) -> bool:
        """Return whether a reader may get the document's active version."""
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


class NearlyAlike(FakeEmbedder):
    """Texts of one kind: their similarities, and those to each question, lie between 0.7 and 0.8."""

    def vector(self, text: str) -> Vector:
        _, *places = super().vector(text)
        own = math.sqrt(0.3) / (math.hypot(*places) or 1.0)
        return (math.sqrt(0.7), *(own * location for location in places))


FACTS = {
    **{
        f"B{number}": f"Station {number}: the torque of bolt B{number} is {number * 3 + 7} newton metres."
        for number in range(1, 151)
    },
    "PN-173": "Part PN-173 comes from supplier 5 within 7 days.",
    "PN-17": "Part PN-17 comes from supplier 4 within 12 days.",
    "ISO 9001:2015": "The washing bay follows ISO 9001:2015 in every detail.",
    "ISO 9001:2008": "The paint shop follows ISO 9001:2008 in every detail.",
    "§ 12a": "Under § 12a a late report costs 40 euros.",
    "§ 12b": "Under § 12b a late report costs 50 euros.",
    "v2.3.1": "Release v2.3.1 repairs the start of the driver.",
    "v3.2.1": "Release v3.2.1 repairs the noise of the driver.",
    "1,250.75": "The contract over 1,250.75 euros was signed in Graz.",
    "Nováková": "Žofie Nováková has the keys of the hall.",
    "Müller": "Jürgen Müller has the keys of the yard.",
}
QUESTIONS = [
    *((f"What is the torque of bolt B{number}?", (f"B{number}",)) for number in (1, 2, 10, 13, 14, 77, 100, 137, 150)),
    ("torque of bolt b137", ("B137",)),
    ("B1", ("B1",)),
    ("Wie groß ist das Drehmoment der Schraube B137?", ("B137",)),
    (
        "Before the night shift I check the seal of my station and note the reading in the log; what is the torque of "
        "bolt B137 in newton metres?",
        ("B137",),
    ),
    ("Compare the torque of bolts B1, B10 and B137.", ("B1", "B10", "B137")),
    ("When does part PN-173 come?", ("PN-173",)),
    ("when does part pn-173 come", ("PN-173",)),
    ("Which of PN-17 and PN-173 comes first?", ("PN-17", "PN-173")),
    ("Who follows ISO 9001:2015?", ("ISO 9001:2015",)),
    ("Was steht in § 12a?", ("§ 12a",)),
    ("What does v2.3.1 repair?", ("v2.3.1",)),
    ("Where was the contract over 1,250.75 euros signed?", ("1,250.75",)),
    ("Which keys has Žofie Nováková?", ("Nováková",)),
    ("Which keys has Zofie Novakova?", ("Nováková",)),
    ("Welche Schlüssel hat Müller?", ("Müller",)),
]


class KnowledgeContract:
    """The contract of a search in documents, with any engine."""

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

    async def test_a_chunk_that_alone_has_a_code_or_a_name_of_the_question_is_among_the_first(
        self, index: SearchIndex
    ) -> None:
        embedder, records = NearlyAlike(), FakeDocuments()
        reader = Scope(f"manual-{uuid.uuid4().hex[:8]}", "ada")
        version = DocumentVersion(1, VersionStatus.READY, "manual.pdf", "application/pdf", 1, "ada", AT)
        manual = Document("manual", "knowledge", "Machine manual", AT, AT, active=version)
        await records.create(reader, manual)
        chunks = [Chunk(number, _page(number, fact)) for number, fact in enumerate(FACTS.values())]
        vectors = [embedder.vector(text) for text in list_chunk_texts(manual, chunks)]
        documents = make_chunk_documents(manual, version, chunks, vectors, embedder.name)
        await index.put(reader, IndexName.KNOWLEDGE, documents)
        ports = FakePorts(search=index, documents=records, embedder=embedder)
        search = build(ports).knowledge.search
        places = {code: f"manual@1#{number}" for number, code in enumerate(FACTS)}
        late = {}
        for question, codes in QUESTIONS:
            results = [chunk.id for chunk in (await search.search(reader, "knowledge", question, limit=5)).chunks]
            if not {places[code] for code in codes} <= set(results):
                late[question] = results
        assert late == {}
        await index.delete(reader, IndexName.KNOWLEDGE, SearchFilter())

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
        for number, document in enumerate(documents):
            await _shelve(index, records, Scope(f"{document.tenant}-{mark}", "librarian"), document, number)
        reader = Scope(f"{tenant}-{mark}", "ada", permissions)
        query = "green paint"
        ports = FakePorts(search=index, documents=records, embedder=EMBEDDER)
        search = build(ports).knowledge.search
        results = await search.find(reader, agent, query, EMBEDDER.vector(query) if with_vector else None)
        cited = [item.source.citation for item in results if item.source.citation is not None]
        assert {(item.document_id, item.version) for item in cited} == {
            (f"doc-{number}", document.active)
            for number, document in enumerate(documents)
            if document.is_readable(reader, agent, tenant) and document.active in document.indexed
        }
        assert len(cited) == len(results)
        assert all(item.agent_id == agent for item in cited)
        for name in {document.tenant for document in documents}:
            await index.delete(Scope(f"{name}-{mark}", "librarian"), IndexName.KNOWLEDGE, SearchFilter())


def _page(number: int, fact: str) -> str:
    """Return a page of the manual: a fact somewhere in lines that resemble those of all other pages."""
    lines = [f"Step {step} of station {number}: check seal {number}/{step} and note the reading." for step in range(12)]
    lines.insert(number * 7 % 13, fact)
    return "\n".join(lines)


async def _shelve(index: SearchIndex, records: FakeDocuments, scope: Scope, entry: Shelved, number: int) -> None:
    version = DocumentVersion(1, VersionStatus.READY, "a.md", "text/markdown", 1, "ada", AT)
    document = Document(
        f"doc-{number}",
        entry.agent,
        "Paint",
        AT,
        AT,
        required_permission=entry.permission,
        active=replace(version, number=entry.active) if entry.active is not None else None,
        next=version if entry.active is None else None,
        deleted_at=AT if entry.is_deleted else None,
    )
    await records.create(scope, document)
    as_indexed = replace(document, required_permission=None) if entry.was_open else document
    for indexed in sorted(entry.indexed):
        chunk = Chunk(0, f"green paint number {number} for boats, version {indexed} of its page")
        documents = make_chunk_documents(
            as_indexed, replace(version, number=indexed), [chunk], [EMBEDDER.vector(chunk.text)], EMBEDDER.name
        )
        await index.put(scope, IndexName.KNOWLEDGE, documents)
