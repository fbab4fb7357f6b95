"""The documents of a project, which the product's own steps read, divide and index for its agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from baton.composition.app import App, build
from baton.domain.documents.document import Document, DocumentRef, VersionStatus
from baton.domain.errors import EmbedderUnavailable, InvalidRequest, WrongEmbeddings
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.knowledge.document_rules import check_request
from baton.knowledge.ingestion import Part
from baton_client.agent_folders import OwnedFile, list_owned_files
from baton_documents.formats import MEDIA_TYPES
from baton_documents.media_types import type_by_name
from baton_local.project.folder_documents import ENDINGS
from baton_testing.conversation_ports import ConversationPorts
from baton_testing.errors import CannotRun
from baton_testing.evals.targets.embedding import RealTimeEmbedder
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from baton_testing.fakes.ports import MemoryPorts

USER = "documents-folder"
"""The user who uploads the documents."""
SOURCE = "project"
"""The id of the source that the documents belong to."""
MAX_DOCUMENTS = 2_000


@dataclass(frozen=True)
class ProjectKnowledge:
    """The documents that agents know. Conversations read them, and do not change those of others."""

    documents: FakeDocuments = field(default_factory=FakeDocuments)
    index: FakeSearchIndex = field(default_factory=FakeSearchIndex)
    files: Mapping[str, str] = field(default_factory=dict)
    """The names of files by the ids of their documents."""
    embedder: RealTimeEmbedder | None = None
    """The embedding model for questions; None if similarity of meaning is estimated by shared words."""

    @property
    def found_by(self) -> str | None:
        """The name of the model by which documents are found; None without documents."""
        if not self.files:
            return None
        return self.embedder.name if self.embedder is not None else "shared words"

    def give(self, ports: ConversationPorts) -> None:
        """Set the ports of one conversation so that its agents find the documents."""
        if not self.files:
            return
        ports.documents = self.documents
        results = {owner: dict(documents) for owner, documents in self.index.documents.items()}
        ports.search = FakeSearchIndex(dimensions=self.index.dimensions, documents=results)
        if self.embedder is not None:
            ports.embedder = self.embedder  # type: ignore[assignment]


class _Files:
    """The part of ``ports.documents.documents.DocumentFiles`` that the steps of ingestion use, in memory."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, str, int, str], bytes] = {}

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        self._bodies[scope.tenant_id, document.id, version, name] = body

    async def read(self, scope: Scope, document: Document, version: int, name: str) -> bytes | None:
        return self._bodies.get((scope.tenant_id, document.id, version, name))


class _NoPipeline:
    """A stand-in for the pipeline, because ``read_knowledge`` carries out the steps itself."""


async def read_knowledge(
    folder: Path,
    agents: Collection[str],
    tenants: Collection[str],
    now: datetime,
    make_embedder: Callable[[], RealTimeEmbedder | None] = lambda: None,
    *,
    libraries: Path | None = None,
    permissions: Mapping[str, str] | None = None,
) -> ProjectKnowledge:
    """Read the documents in ``folder/AGENT/`` for each tenant, and those of ``libraries`` once for all tenants.

    ``permissions`` has the permission that the documents of a library need, by the library's name.
    ``make_embedder`` is called once for this event loop, and once for the conversations' loop, unless there are no
    files. Raises ``CannotRun`` with all files that cannot be read, for too many files, and if the embedding fails.
    """
    files = await asyncio.to_thread(list_owned_files, folder)
    shelved = await asyncio.to_thread(list_owned_files, libraries) if libraries is not None else []
    if not files and not shelved:
        return ProjectKnowledge()
    if len(files) + len(shelved) > MAX_DOCUMENTS:
        raise CannotRun(
            f"{folder}: {len(files) + len(shelved)} files are too many for one evaluation; at most {MAX_DOCUMENTS}."
        )
    problems = [f"{file.file}: there is no agent {file.agent_id!r}" for file in files if file.agent_id not in agents]
    ports = MemoryPorts()
    ports.clock = FakeClock(now - timedelta(days=1))
    ports.document_files = _Files()  # type: ignore[assignment]
    ports.ingestions = _NoPipeline()  # type: ignore[assignment]
    owned: list[tuple[Scope, OwnedFile, str | None]]
    owned = [(Scope(tenant, USER), file, None) for tenant in sorted(tenants) for file in files]
    owned += [(ProjectScope(), file, (permissions or {}).get(file.agent_id)) for file in shelved]
    embedder = make_embedder()
    try:
        if embedder is not None:
            ports.embedder = embedder  # type: ignore[assignment]
            ports.search.dimensions = embedder.dimensions
        app = build(ports)
        for scope, file, permission in owned if not problems else ():
            try:
                problem = await _ingest(app, scope, file, permission)
            except (EmbedderUnavailable, WrongEmbeddings) as failure:
                raise CannotRun(f"{file.file}: the embedding model failed: {failure.detail}") from None
            if problem is not None:
                problems.append(f"{file.file}: {problem}")
    finally:
        if embedder is not None:
            await embedder.aclose()
    if problems:
        raise CannotRun("\n".join(dict.fromkeys(problems)))
    names = {file.document_id: file.file.name for _, file, _ in owned}
    return ProjectKnowledge(ports.documents, ports.search, names, make_embedder())


async def _ingest(app: App, scope: Scope, file: OwnedFile, permission: str | None) -> str | None:
    """Make a file part of an agent's knowledge. Return the reason if it cannot be, otherwise None."""
    name = file.file.name
    content_type = type_by_name(name)
    if content_type not in MEDIA_TYPES:
        return ENDINGS
    try:
        size = (await asyncio.to_thread(file.file.stat)).st_size
        request = check_request(
            name=name,
            content_type=content_type,
            size=size,
            sha256=None,
            document_id=file.document_id,
            details={"required_permission": permission},
        )
        body = await asyncio.to_thread(file.file.read_bytes)
    except InvalidRequest as refusal:
        return refusal.detail
    except OSError as problem:
        return f"it cannot be read: {problem.strerror}"
    document = await app.knowledge.documents.put(scope, file.agent_id, replace(request, source_id=SOURCE), body)
    ref = DocumentRef(scope.tenant_id, file.agent_id, document.id, document.latest.number)
    steps = app.knowledge.ingestion
    checked = await steps.check(ref)
    if checked.form is not None:
        for index, pages in enumerate(checked.parts):
            await steps.extract(ref, Part(checked.form, pages, index, len(checked.parts)))
        batches = await steps.chunk(ref, len(checked.parts))
        for batch in range(batches):
            await steps.index(ref, batch, batches)
        if batches:
            await steps.activate(ref)
    stored = await app.knowledge.documents.get(scope, file.agent_id, document.id)
    if stored.latest.status is not VersionStatus.READY:
        return stored.latest.error or "it could not be read"
    return None
