"""An application over fakes, with a site and a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from baton.composition.app import App, build
from baton.domain.documents.document import Document
from baton.domain.documents.source import Source, SourceRules
from baton.domain.tenants.egress_policy import EgressPolicy
from baton.domain.tenants.identity import Scope
from baton.knowledge.source_refresh import SLICE_SECONDS, RefreshReport
from baton.knowledge.sources import SourceRequest
from baton.ports.documents.sources import PageContent
from baton_testing.fakes.documents.documents import FakeDocuments
from tests.fakes.documents import FakeDocumentFiles
from tests.fakes.sources import FakeSourceObjects, FakeSources, FakeWebPages
from tests.harness.harness import Harness

AGENT = "assistant"


SITE = "https://docs.example.com"


DAY = timedelta(hours=24)


RULES = SourceRules(EgressPolicy.of(["*"]), ("manuals/{tenant}/",))


def page(text: str, *, etag: str | None = None, content_type: str = "text/html", **more: Any) -> PageContent:
    return PageContent(text.encode(), content_type, etag, **more)


@dataclass
class World:
    """An application over fakes, with a site and a bucket."""

    rules: SourceRules = RULES

    def __post_init__(self) -> None:
        self.harness = Harness()
        self.ada, self.clock = self.harness.ada, self.harness.clock
        self.store, self.web, self.objects = FakeSources(), FakeWebPages(), FakeSourceObjects()
        self.documents, self.files = FakeDocuments(), FakeDocumentFiles()
        self.app = self.build_with_rules(self.rules)

    def build_with_rules(self, rules: SourceRules) -> App:
        """Return the application with other rules."""
        return build(
            self.harness.with_ports(
                sources=self.store,
                web_pages=self.web,
                source_objects=self.objects,
                source_rules=rules,
                documents=self.documents,
                document_files=self.files,
            )
        )

    async def create(self, *, scope: Scope | None = None, **fields: Any) -> Source:
        empty: dict[str, Any] = dict.fromkeys(("urls", "url", "prefix", "title", "required_permission", "source_id"))
        request = SourceRequest(**{"kind": "urls", "refresh_hours": 24} | empty | fields)
        return await self.app.knowledge.sources.create(scope or self.ada, AGENT, request)

    async def refresh(self, *, slice_seconds: float = SLICE_SECONDS) -> RefreshReport:
        return await self.app.knowledge.source_refreshes.refresh_due(seconds=30, slice_seconds=slice_seconds)

    async def refresh_after(self, elapsed: timedelta = DAY) -> RefreshReport:
        self.clock.advance(elapsed.total_seconds())
        return await self.refresh()

    async def source(self, source: Source) -> Source:
        return await self.app.knowledge.sources.get(Scope("acme", "ada"), AGENT, source.id)

    def list_existing(self) -> dict[str, Document]:
        """Return the documents that are not deleted, by their address or name."""
        alive = [document for document in self.documents.records.values() if document.deleted_at is None]
        return {(document.url or document.latest.name).removeprefix(SITE): document for document in alive}

    def contents(self, path: str) -> list[str]:
        """Return the stored contents of a document, version by version."""
        document = self.list_existing()[path]
        places = sorted(body for body in self.files.bodies if body[2] == document.id)
        return [self.files.bodies[location]["original"].decode() for location in places]
