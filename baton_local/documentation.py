"""Baton's own documentation as documents of the agents that ship, so that they know Baton from the first run on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from baton.composition import deployed_ports, event_loop
from baton.domain.document import Document, DocumentVersion, VersionStatus, chunk_source_id
from baton.domain.errors import BatonError
from baton.domain.identity import Scope
from baton.domain.search import IndexName, SearchFilter
from baton.gather_all import gather_all
from baton.ports.agent_catalog import AgentCatalog
from baton.ports.clock import Clock
from baton.ports.documents import ORIGINAL, DocumentFiles, DocumentStore
from baton.ports.search_index import SearchIndex
from baton_local.demo_model.sentence_encoder import SentenceEncoder
from baton_local.root import ROOT

logger = logging.getLogger("baton_local")

TENANT, USER = "demo", "documentation"
AGENTS = ("knowledge", "research")
FOLDERS = ("tutorial", "how-to", "explanation", "reference")
"""Folders of ``docs``. Decisions are not among them: they tell why, and often what is no longer so."""
AT_ONCE = 2
POLL_SECONDS = 0.25
DOCUMENT_SECONDS = 300.0
_IDS = uuid.UUID("8b1d6a51-9d0e-5f0c-a3b1-6a1f5c557b11")


class DocumentationPorts(Protocol):
    """What of a deployment's ports the documentation needs."""

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def document_files(self) -> DocumentFiles: ...

    @property
    def search(self) -> SearchIndex: ...

    @property
    def catalog(self) -> AgentCatalog: ...

    @property
    def clock(self) -> Clock: ...


class Documentation:
    """Puts the documentation into the pipeline that every document goes through, in the background.

    Documents of an earlier run that have not changed stay as they are.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        progress: Callable[[str], None],
        *,
        root: Path = ROOT,
        ports: Callable[[], DocumentationPorts] = deployed_ports,
    ) -> None:
        self._encoder = encoder
        self._progress = progress
        self._root = root
        self._ports = ports
        self._scope = Scope(TENANT, USER)
        self._stopped = threading.Event()
        self._work: Future[None] | None = None

    def start(self) -> None:
        """Begin, and return at once."""
        self._work = event_loop.begin(self._ingest_all())

    def stop(self) -> None:
        """Give up what is not done yet. The next run does it."""
        self._stopped.set()
        if self._work is not None:
            self._work.cancel()

    def wait(self) -> None:
        """Wait until all documents are ready or have failed."""
        if self._work is not None:
            try:
                self._work.result()
            except CancelledError:
                return

    async def _ingest_all(self) -> None:
        pages = list(_pages(self._root))
        known = {agent.id for agent in self._ports().catalog.all()}
        agents = [agent for agent in AGENTS if agent in known]
        if not pages or not agents:
            return
        names = " and ".join(agents)
        self._progress(f"Reading Baton's documentation for the agents {names}: they answer from it in a moment ...")
        ready, slots = 0, asyncio.Semaphore(AT_ONCE)

        async def ingest(agent_id: str, page: Path) -> None:
            nonlocal ready
            async with slots:
                if await self._ingest(agent_id, page):
                    ready += 1

        try:
            for agent_id in agents:
                before = ready
                await gather_all(*(ingest(agent_id, page) for page in pages))
                count = f"{ready - before} of {len(pages)} documents are ready"
                self._progress(f"Baton's documentation: {count} for the agent {agent_id}")
            await self._encoder.store([text async for text in self._texts(agents[0], pages)])
        except BatonError as error:
            if not self._stopped.is_set():
                logger.warning("Baton's documentation was not read completely: %s", error)

    async def _ingest(self, agent_id: str, page: Path) -> bool:
        """Have one page ingested unless it is ready, and return whether it is ready in the end."""
        ports = self._ports()
        body = await asyncio.to_thread(page.read_bytes)
        checksum, now = hashlib.sha256(body).hexdigest(), ports.clock.now()
        document_id = self._id(agent_id, page)
        version = DocumentVersion(
            number=1,
            status=VersionStatus.WAITING,
            name=page.name,
            content_type="text/markdown",
            size=len(body),
            created_by=USER,
            created_at=now,
            sha256=checksum,
        )
        title = _title(body.decode(), page.stem)
        made = Document(document_id, agent_id, title, now, now, next=version)
        document: Document | None = await ports.documents.create(self._scope, made)
        if document is None or document.deleted_at is not None:
            return False
        if document.latest.sha256 != checksum or document.latest.status is VersionStatus.FAILED:
            newer = replace(version, number=document.latest.number + 1)
            document = await ports.documents.save(self._scope, document.replaced_by(newer, now))
        if document is None:
            return False
        if document.latest.status is VersionStatus.WAITING:
            await ports.document_files.write(self._scope, document, document.latest.number, ORIGINAL, body)
        return await self._is_ready(agent_id, document_id, checksum)

    async def _is_ready(self, agent_id: str, document_id: str, checksum: str) -> bool:
        """Wait until a document is ready or has failed."""
        for _ in range(int(DOCUMENT_SECONDS / POLL_SECONDS)):
            document = await self._ports().documents.get(self._scope, agent_id, document_id)
            if document is None or document.deleted_at is not None or self._stopped.is_set():
                return False
            if document.latest.status is VersionStatus.FAILED:
                logger.warning("%s of Baton's documentation: %s", document.latest.name, document.latest.error)
                return False
            if document.latest.status is VersionStatus.READY and document.latest.sha256 == checksum:
                return True
            await asyncio.sleep(POLL_SECONDS)
        return False

    async def _texts(self, agent_id: str, pages: list[Path]) -> AsyncIterator[str]:
        """Yield what was embedded of the pages."""
        ports = self._ports()
        for page in pages:
            document = await ports.documents.get(self._scope, agent_id, self._id(agent_id, page))
            if document is None or document.active is None:
                continue
            source = SearchFilter(source_id=chunk_source_id(document.id, document.active.number))
            async for chunk in ports.search.list(self._scope, IndexName.KNOWLEDGE, source):
                for view in chunk.views.values():
                    yield view.text

    def _id(self, agent_id: str, page: Path) -> str:
        name = f"{TENANT}/{agent_id}/{page.relative_to(self._root).as_posix()}"
        return f"doc_{uuid.uuid5(_IDS, name).hex}"


def _pages(root: Path) -> Iterator[Path]:
    """Yield the pages, those that answer first questions first."""
    readme = root / "README.md"
    if readme.exists():
        yield readme
    for folder in FOLDERS:
        yield from sorted((root / "docs" / folder).glob("*.md"))


def _title(text: str, otherwise: str) -> str:
    """Return the first heading."""
    return next((line.removeprefix("# ").strip() for line in text.splitlines() if line.startswith("# ")), otherwise)
