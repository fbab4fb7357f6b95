"""The local cloud gives the agents that ship Baton's documentation, and lets users' documents go first."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from baton.domain.documents.document import derive_chunk_source_id
from baton.domain.documents.pipelines import Pipeline, PipelineLimits
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import EmbedderUnavailable
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton_local.project.documentation import TENANT, USER, Documentation
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.pipelines import run_of
from tests.fakes.pipelines import FakeExecutions, FakePipelineQueue
from tests.harness.harness import ASSISTANT

SCOPE = Scope(TENANT, USER)


@dataclass
class Ports:
    """The ports of a deployment that the documentation needs."""

    documents: FakeDocuments = field(default_factory=FakeDocuments)
    search: FakeSearchIndex = field(default_factory=FakeSearchIndex)
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    clock: FakeClock = field(default_factory=FakeClock)
    shipped_agents: FakeShippedAgents = field(
        default_factory=lambda: FakeShippedAgents(
            ASSISTANT, *(ASSISTANT.model_copy(update={"id": name, "main": False}) for name in ("knowledge", "research"))
        )
    )

    def __post_init__(self) -> None:
        self.admission = PipelineAdmission(FakePipelineQueue(), FakeExecutions(), self.clock, PipelineLimits())

    async def ready(self) -> list[str]:
        """Return the documents that turns use and whose chunks are in the index: agent, title and version."""
        results = []
        for agent_id in ("knowledge", "research"):
            documents, _ = await self.documents.of_agent(SCOPE, agent_id, limit=100, cursor=None)
            for document in documents:
                if document.active is not None:
                    source = SearchFilter(source_id=derive_chunk_source_id(document.id, document.active.number))
                    assert await self.search.count(SCOPE, IndexName.KNOWLEDGE, source) == document.active.chunks
                    results.append(f"{agent_id}: {document.title} {document.active.number}")
        return sorted(results)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two pages and a decision."""
    for folder in ("how-to", "decisions"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Baton\n\nBaton is a back end.\n")
    (tmp_path / "docs" / "how-to" / "deploy.md").write_text("# Deploy to AWS\n\nRun make deploy.\n")
    (tmp_path / "docs" / "decisions" / "0001.md").write_text("# Decide\n")
    return tmp_path


def begin(ports: Ports, root: Path) -> tuple[Documentation, list[str]]:
    """Begin to read the documentation. Returns what is printed, too."""
    messages: list[str] = []
    ports.clock.advance(60)
    documentation = Documentation(root / "cache", messages.append, root=root, ports=lambda: ports)
    documentation.start()
    return documentation, messages


async def read(ports: Ports, root: Path) -> list[str]:
    """Read the documentation, and return what is printed."""
    documentation, message = begin(ports, root)
    await asyncio.to_thread(documentation.wait)
    return message


async def test_each_page_becomes_a_document_of_both_agents(root: Path) -> None:
    ports = Ports()
    message = await read(ports, root)
    assert await ports.ready() == [
        "knowledge: Baton 1",
        "knowledge: Deploy to AWS 1",
        "research: Baton 1",
        "research: Deploy to AWS 1",
    ]
    assert message[-1] == "Baton's documentation: 2 of 2 documents are ready for the agents knowledge and research"


async def test_each_text_is_embedded_once_in_the_life_of_the_cache(root: Path) -> None:
    ports = Ports()
    await read(ports, root)
    assert len(set(ports.embedder.embedded)) == len(ports.embedder.embedded) > 0
    started_again = Ports()
    await read(started_again, root)
    assert started_again.embedder.embedded == []
    assert await started_again.ready() == await ports.ready()


async def test_a_later_run_with_the_same_table_puts_only_what_has_changed(root: Path) -> None:
    ports = Ports()
    await read(ports, root)
    saved = await revisions(ports)
    await read(ports, root)
    assert await revisions(ports) == saved
    (root / "README.md").write_text("# Baton\n\nBaton is more.\n")
    await read(ports, root)
    assert await ports.ready() == [
        "knowledge: Baton 2",
        "knowledge: Deploy to AWS 1",
        "research: Baton 2",
        "research: Deploy to AWS 1",
    ]


async def revisions(ports: Ports) -> list[tuple[str, int]]:
    documents, _ = await ports.documents.of_agent(SCOPE, "knowledge", limit=100, cursor=None)
    return [(document.id, document.revision) for document in documents]


async def test_a_document_that_a_developer_has_deleted_stays_deleted(root: Path) -> None:
    ports = Ports()
    await read(ports, root)
    (document, *_), _ = await ports.documents.of_agent(SCOPE, "knowledge", limit=1, cursor=None)
    await ports.documents.save(SCOPE, document.mark_deleted(ports.clock.now()))
    await read(ports, root)
    remaining, _ = await ports.documents.of_agent(SCOPE, "knowledge", limit=9, cursor=None)
    assert document.id not in {item.id for item in remaining}


async def test_a_page_that_fails_does_not_stop_the_others(root: Path) -> None:
    ports = Ports(embedder=FakeEmbedder(failure=EmbedderUnavailable()))
    message = await read(ports, root)
    assert await ports.ready() == []
    assert message[-1] == "Baton's documentation: 0 of 2 documents are ready for the agents knowledge and research"
    ports.embedder.failure = None
    await read(ports, root)
    assert len(await ports.ready()) == 4


async def test_without_an_embedder_pages_are_found_by_their_words(root: Path) -> None:
    ports = Ports(embedder=FakeEmbedder(dimensions=0))
    await read(ports, root)
    assert len(await ports.ready()) == 4


async def test_pages_wait_while_documents_of_users_are_in_the_pipeline(root: Path) -> None:
    ports = Ports()
    upload = run_of("acme", pipeline=Pipeline.INGESTION)
    await ports.admission.start(upload)
    documentation, _ = begin(ports, root)
    await asyncio.sleep(1.2)  # more than twice the pause between two looks
    assert ports.embedder.embedded == []
    await ports.admission.note_end(Pipeline.INGESTION, upload.subject)
    await asyncio.to_thread(documentation.wait)
    assert len(await ports.ready()) == 4


async def test_agents_that_are_not_there_get_nothing(root: Path) -> None:
    ports = Ports(shipped_agents=FakeShippedAgents(ASSISTANT))
    assert await read(ports, root) == []
    assert await ports.ready() == []
