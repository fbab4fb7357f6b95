"""The pipeline over fakes, run as its state machine runs it, with faults at any write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from baton.composition.app import App, build
from baton.domain.documents.document import UPLOAD_WAIT, Document, DocumentRef, DocumentVersion, VersionStatus
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.domain.tenants.identity import Scope, make_stored_scope
from baton.ports.documents.documents import TextExtractor
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.documents import FakeDocumentFiles, FakeIngestions
from tests.fakes.ports import FakePorts
from tests.fakes.text_extractor import PlainTextExtractor

AGENT = "knowledge"
WAIT = timedelta(seconds=960)


class Killed(BaseException):
    """The worker's end. No code of the product sees it."""


@dataclass
class Writes:
    """The count of writes to all stores. It kills the worker before or after one of them."""

    count: int = 0
    kill_before: int | None = None
    kill_after: int | None = None

    async def before(self) -> None:
        self.count += 1
        if self.count == self.kill_before:
            raise Killed

    async def after(self) -> None:
        if self.count == self.kill_after:
            raise Killed


@dataclass
class CountedIndex(FakeSearchIndex):
    """An index whose writes are counted too."""

    writes: Writes = field(default_factory=Writes)

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        await self.writes.before()
        await super().put(scope, index, documents)
        await self.writes.after()

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        await self.writes.before()
        removed = await super().delete(scope, index, chosen)
        await self.writes.after()
        return removed


class Pipeline:
    """Documents of one agent, uploads to them, and executions of the state machine."""

    def __init__(self, tenant: str = "acme", *, shared: Pipeline | None = None) -> None:
        self.scope = make_stored_scope(tenant, "ada")
        self.clock = shared.clock if shared else FakeClock()
        self.writes = Writes()
        self.documents = shared.documents if shared else FakeDocuments()
        self.files = shared.files if shared else FakeDocumentFiles()
        self.index = shared.index if shared else CountedIndex(writes=self.writes)
        self.embedder = FakeEmbedder()
        self.ingestions = FakeIngestions()
        self.extractor: TextExtractor = PlainTextExtractor()
        if shared is None:
            self.documents.before_write = self.files.before_write = self.writes.before
            self.documents.after_write = self.writes.after
        self.use(self.documents, self.files, self.index)

    def use(self, documents: Any, files: Any, index: Any, *, since: datetime | None = None) -> None:
        """Work with these stores, and with an engine of executions that began ``since``."""
        self.documents, self.files, self.index = documents, files, index
        self.app: App = build(
            FakePorts(
                clock=self.clock,
                documents=documents,
                document_files=files,
                search=index,
                embedder=self.embedder,
                ingestions=self.ingestions,
                extractor=self.extractor,
                pipelines_since=since,
            )
        )

    async def create(self, number: int = 1, content_type: str = "text/plain") -> DocumentRef:
        """Create a document whose first version waits for its content."""
        now = self.clock.now()
        document_id = f"doc_{number:032x}"
        first = DocumentVersion(1, VersionStatus.WAITING, "a.txt", content_type, 5, "ada", now)
        document = Document(document_id, AGENT, "a.txt", now, now, next=first, check_at=now + UPLOAD_WAIT)
        await self.documents.create(self.scope, document)
        return DocumentRef(self.scope.tenant_id, AGENT, document_id, 1)

    async def replace(self, ref: DocumentRef) -> DocumentRef:
        """Create a newer version, which waits for its content."""
        document = await self.get(ref)
        assert document is not None
        number, now = document.latest.number + 1, self.clock.now()
        version = DocumentVersion(number, VersionStatus.WAITING, "a.txt", "text/plain", 5, "ada", now)
        assert await self.documents.save(self.scope, document.replace_with(version, now)) is not None
        return DocumentRef(ref.tenant_id, ref.agent_id, ref.document_id, number)

    async def announce(self, key: str) -> Any:
        """Report a stored object, and return the function's answer."""
        return await self.app.knowledge.ingestion_events.start_stored({"detail": {"object": {"key": key}}})

    async def upload(self, ref: DocumentRef, text: str) -> None:
        document = await self.get(ref)
        assert document is not None
        await self.files.write(self.scope, document, ref.version, "original", text.encode())

    async def delete(self, ref: DocumentRef) -> None:
        document = await self.get(ref)
        assert document is not None
        assert await self.documents.save(self.scope, document.mark_deleted(self.clock.now())) is not None

    async def get(self, ref: DocumentRef) -> Document | None:
        return await self.documents.get(self.scope, ref.agent_id, ref.document_id)

    async def get_existing(self, ref: DocumentRef) -> Document:
        document = await self.get(ref)
        assert document is not None
        return document

    async def step(self, ref: DocumentRef, step: str, **overrides: Any) -> dict[str, Any]:
        described = {"tenantId": ref.tenant_id, "agentId": ref.agent_id}
        subject = f"{ref.tenant_id}/{ref.agent_id}/{ref.document_id}-{ref.version}"
        document = {**described, "documentId": ref.document_id, "version": ref.version, "subject": subject}
        if ref.rebuilds:
            document["rebuilds"] = True
        return await self.app.knowledge.ingestion_events.run_step({"step": step, "document": document, **overrides})

    async def run(self, ref: DocumentRef, *, order: random.Random | None = None, waits: bool = True) -> None:
        """Run the steps in their order, those of a map in ``order``, then the removals."""
        checked = await self.step(ref, "check")
        if checked["next"] == "extract":
            parts = [
                {"format": checked["format"], "part": part, "index": index, "count": checked["count"]}
                for index, part in enumerate(checked["parts"])
            ]
            for part in shuffle(parts, order):
                await self.step(ref, "extract", **part)
            chunked = await self.step(ref, "chunk", parts=checked["count"])
            if chunked["next"] == "index":
                for batch in shuffle(chunked["batches"], order):
                    await self.step(ref, "index", batch=batch, count=chunked["count"])
                await self.step(ref, "activate")
        if checked["next"] != "done":
            await self.clean(ref, waits=waits)

    async def clean(self, ref: DocumentRef, *, waits: bool = True) -> None:
        cleaned = await self.step(ref, "clean")
        while waits and cleaned["next"] == "wait":
            self.clock.advance(cleaned["waitSeconds"])
            cleaned = await self.step(ref, "clean")

    def list_indexed_texts(self) -> dict[str, list[str]]:
        """Return the texts in the index, by document and version."""
        results: dict[str, list[str]] = {}
        for (_, tenant, _), documents in self.index.documents.items():
            for document in documents.values():
                if tenant == self.scope.tenant_id:
                    results.setdefault(document.source_id, []).append(document.fields["text"])
        return results

    def list_stored_files(self) -> dict[int, set[str]]:
        """Return the names of all files, by version."""
        return {
            version: set(files)
            for (tenant, _, _, version), files in self.files.bodies.items()
            if tenant == self.scope.tenant_id and files
        }


def shuffle(items: Sequence[Any], order: random.Random | None) -> list[Any]:
    return list(items) if order is None else order.sample(list(items), len(items))


def text_of(pages: int, word: str) -> str:
    """Return a text of ``pages`` pages, each with a heading."""
    return "\f".join(f"# Page {number}\n\n{word} on page {number}. " * 8 for number in range(1, pages + 1))
