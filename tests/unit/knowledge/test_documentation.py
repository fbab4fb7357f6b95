"""The local cloud gives the agents that ship Baton's documentation, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from baton.domain.document import Document, VersionStatus
from baton.domain.identity import Scope
from baton_local.demo_model.sentence_encoder import SentenceEncoder
from baton_local.documentation import Documentation
from baton_testing.fakes.agent_catalog import FakeAgentCatalog
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents import FakeDocumentFiles, FakeDocuments
from baton_testing.fakes.search_index import FakeSearchIndex
from tests.harness.harness import ASSISTANT


class Pipeline(FakeDocumentFiles):
    """The pipeline of documents: what is stored is ready at once, or has failed."""

    def __init__(self, documents: FakeDocuments) -> None:
        super().__init__()
        self.documents = documents
        self.stored: list[str] = []
        self.broken: Sequence[str] = ()

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        await super().write(scope, document, version, name, body)
        self.stored.append(f"{document.agent_id}: {document.title} {version}")
        at = document.updated_at
        if document.title in self.broken:
            failed = replace(document.latest, status=VersionStatus.FAILED, error="It is damaged.")
            await self.documents.save(scope, document.failed(failed, at))
        else:
            ready = replace(document.latest, status=VersionStatus.READY)
            await self.documents.save(scope, document.activated(ready, at))


@dataclass
class Ports:
    """What the documentation needs of a deployment."""

    documents: FakeDocuments = field(default_factory=FakeDocuments)
    search: FakeSearchIndex = field(default_factory=FakeSearchIndex)
    clock: FakeClock = field(default_factory=FakeClock)
    catalog: FakeAgentCatalog = field(
        default_factory=lambda: FakeAgentCatalog(
            ASSISTANT, *(ASSISTANT.model_copy(update={"id": name, "main": False}) for name in ("knowledge", "research"))
        )
    )

    def __post_init__(self) -> None:
        self.document_files = Pipeline(self.documents)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two pages and a decision."""
    for folder in ("how-to", "decisions"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Baton\n\nBaton is a back end.\n")
    (tmp_path / "docs" / "how-to" / "deploy.md").write_text("# Deploy to AWS\n\nRun make deploy.\n")
    (tmp_path / "docs" / "decisions" / "0001.md").write_text("# Decide\n")
    return tmp_path


def run(ports: Ports, root: Path) -> tuple[list[str], list[str]]:
    """Let a run of the local cloud read the documentation. Returns what it stored, and what it said."""
    said: list[str] = []
    ports.document_files.stored.clear()
    documentation = Documentation(SentenceEncoder(), said.append, root=root, ports=lambda: ports)
    documentation.start()
    documentation.wait()
    return sorted(ports.document_files.stored), said


def test_each_page_becomes_a_document_of_both_agents(root: Path) -> None:
    stored, said = run(Ports(), root)
    assert stored == [
        "knowledge: Baton 1",
        "knowledge: Deploy to AWS 1",
        "research: Baton 1",
        "research: Deploy to AWS 1",
    ]
    assert said[-1] == "Baton's documentation: 2 of 2 documents are ready for the agent research"


def test_a_later_run_reads_only_what_has_changed(root: Path) -> None:
    ports = Ports()
    run(ports, root)
    assert run(ports, root)[0] == []
    (root / "README.md").write_text("# Baton\n\nBaton is more.\n")
    assert run(ports, root)[0] == ["knowledge: Baton 2", "research: Baton 2"]


def test_a_page_that_fails_does_not_stop_the_others(root: Path) -> None:
    ports = Ports()
    ports.document_files.broken = ("Baton",)
    _, said = run(ports, root)
    assert said[-1] == "Baton's documentation: 1 of 2 documents are ready for the agent research"
    ports.document_files.broken = ()
    assert run(ports, root)[0] == ["knowledge: Baton 2", "research: Baton 2"]


def test_agents_that_are_not_there_get_nothing(root: Path) -> None:
    assert run(Ports(catalog=FakeAgentCatalog(ASSISTANT)), root) == ([], [])
