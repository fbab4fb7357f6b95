"""Baton's own documentation as documents of the shipped agents, so that they know Baton from the first run on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from baton.composition import deployed_ports
from baton.composition.startup import event_loop
from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.domain.documents.pipelines import Pipeline
from baton.domain.documents.search import IndexName, Vector
from baton.domain.errors import BatonError
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.ports.agents.agents import ShippedAgents
from baton.ports.clock import Clock
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.search import Embedder, SearchIndex
from baton_documents.chunks.chunk import Chunk
from baton_documents.chunks.division import divide_into_chunks
from baton_documents.text import markdown
from baton_local.project.vector_cache import VectorCache
from baton_local.root import ROOT

logger = logging.getLogger("baton_local")

TENANT, USER = "demo", "documentation"
AGENTS = ("knowledge", "research")
FOLDERS = ("tutorial", "how-to", "explanation", "reference")
"""The folders of ``docs`` that are read. Decisions are not: they give reasons, and many are superseded."""
POLL_SECONDS = 0.5
_IDS = uuid.UUID("8b1d6a51-9d0e-5f0c-a3b1-6a1f5c557b11")


class DocumentationPorts(Protocol):
    """The ports of a deployment that the documentation needs."""

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def search(self) -> SearchIndex: ...

    @property
    def embedder(self) -> Embedder: ...

    @property
    def admission(self) -> PipelineAdmission: ...

    @property
    def shipped_agents(self) -> ShippedAgents: ...

    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation."""

    path: Path
    title: str
    body: bytes

    @property
    def checksum(self) -> str:
        """The checksum of its content, in hexadecimal digits."""
        return hashlib.sha256(self.body).hexdigest()


class Documentation:
    """The pages of Baton's documentation, which become documents of the agents in the background.

    The pages can be trusted, so they need no pipeline with checks, a separate process and retries. One page at a time
    is embedded, and none while a document of a user is in the pipeline. Vectors are kept for the next run. Unchanged
    documents of an earlier run stay as they are.
    """

    def __init__(
        self,
        cache_dir: Path,
        progress: Callable[[str], None],
        *,
        root: Path = ROOT,
        ports: Callable[[], DocumentationPorts] = deployed_ports,
    ) -> None:
        """``cache_dir`` is the folder of the file with vectors."""
        self._cache_dir = cache_dir
        self._progress = progress
        self._root = root
        self._ports = ports
        self._scope = Scope(TENANT, USER)
        self._stopped = threading.Event()
        self._work: Future[None] | None = None

    def start(self) -> None:
        """Begin in the background, and return at once."""
        self._work = event_loop.begin(self._ingest_all())

    def stop(self) -> None:
        """Stop unfinished work. The next run does it."""
        self._stopped.set()
        if self._work is not None:
            self._work.cancel()

    def wait(self) -> None:
        """Wait until all documents are ready or have failed, or the work was stopped."""
        if self._work is not None:
            try:
                self._work.result()
            except CancelledError:
                return

    async def _ingest_all(self) -> None:
        """Make all pages documents. A page that fails is logged, and left to the next start."""
        ports = self._ports()
        paths = list(_find_pages(self._root))
        agent_ids = {agent.id for agent in ports.shipped_agents.all()}
        agents = [agent for agent in AGENTS if agent in agent_ids]
        if not paths or not agents:
            return
        names = " and ".join(agents)
        self._progress(f"Reading Baton's documentation for the agents {names}: they answer from it in a moment ...")
        embedder = ports.embedder
        cache = VectorCache(self._cache_dir / "documentation.sqlite", embedder.name, embedder.dimensions)
        texts: list[str] = []
        ready = 0
        for path in paths:
            try:
                texts += await self._ingest(path, agents, cache)
                ready += 1
            except (BatonError, OSError, sqlite3.Error) as error:
                if self._stopped.is_set():
                    return
                logger.warning("%s of Baton's documentation was not read: %s", path.name, error)
        self._progress(f"Baton's documentation: {ready} of {len(paths)} documents are ready for the agents {names}")
        if ready == len(paths):
            await asyncio.to_thread(cache.keep_only, texts)

    async def _ingest(self, path: Path, agents: Sequence[str], cache: VectorCache) -> list[str]:
        """Make a page a document of each agent, unless it is one already or was deleted there.

        Return the texts of the page that are embedded.
        """
        page = await asyncio.to_thread(_read_page, path)
        chunks = await asyncio.to_thread(lambda: divide_into_chunks(markdown.extract(page.body).blocks))
        texts: list[str] = []
        for agent_id in agents:
            earlier = await self._ports().documents.get(self._scope, agent_id, self._make_id(agent_id, path))
            document = self._make_document(agent_id, page, earlier, len(chunks))
            texts = list_chunk_texts(document, chunks)
            if earlier is None or not (earlier.deleted_at is not None or _is_same(earlier, page)):
                await self._put(earlier, document, chunks, await self._find_vectors(texts, cache))
        return texts

    def _make_document(self, agent_id: str, page: Page, stored: Document | None, chunks: int) -> Document:
        """Return the document with the page as its active version, which follows the versions of ``stored``."""
        now = self._ports().clock.now()
        version = DocumentVersion(
            number=stored.latest.number + 1 if stored is not None else 1,
            status=VersionStatus.READY,
            name=page.path.name,
            content_type="text/markdown",
            size=len(page.body),
            created_by=USER,
            created_at=now,
            sha256=page.checksum,
            progress=100,
            chunks=chunks,
            ended_at=now,
        )
        if stored is None:
            return Document(self._make_id(agent_id, page.path), agent_id, page.title, now, now, active=version)
        return replace(stored.replace_with(version, now).activate(version, now), title=page.title)

    async def _put(
        self, stored: Document | None, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector]
    ) -> None:
        """Index the chunks, then store the document. ``stored`` is its previous state; None if there is none."""
        ports = self._ports()
        indexed = make_chunk_documents(document, document.latest, chunks, vectors, ports.embedder.name)
        # Before the record, after which turns use the chunks. The sweeper has the previous version removed.
        await ports.search.put(self._scope, IndexName.KNOWLEDGE, indexed)
        if stored is None:
            await ports.documents.create(self._scope, document)
        else:
            await ports.documents.save(self._scope, document)

    async def _find_vectors(self, texts: Sequence[str], cache: VectorCache) -> Sequence[Vector]:
        """Return the vectors of texts; none if embedding is off."""
        embedder = self._ports().embedder
        if not embedder.dimensions:
            return ()
        cached = await asyncio.to_thread(cache.get, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in cached]
        if missing:
            await self._wait_for_users()
            new_vectors = dict(zip(missing, await embedder.embed(missing), strict=True))
            await asyncio.to_thread(cache.put, new_vectors)
            cached |= new_vectors
        return [cached[text] for text in texts]

    async def _wait_for_users(self) -> None:
        """Wait while documents of users are in the pipeline."""
        while await self._ports().admission.is_busy(Pipeline.INGESTION):  # noqa: ASYNC110  runs are items of a table
            await asyncio.sleep(POLL_SECONDS)

    def _make_id(self, agent_id: str, path: Path) -> str:
        name = f"{TENANT}/{agent_id}/{path.relative_to(self._root).as_posix()}"
        return f"doc_{uuid.uuid5(_IDS, name).hex}"


def _find_pages(root: Path) -> Iterator[Path]:
    """Yield the pages' files, those for beginners first; none if ``root`` has no documentation."""
    readme = root / "README.md"
    if readme.exists():
        yield readme
    for folder in FOLDERS:
        yield from sorted((root / "docs" / folder).glob("*.md"))


def _read_page(path: Path) -> Page:
    body = path.read_bytes()
    lines = body.decode().splitlines()
    title = next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), path.stem)
    return Page(path, title, body)


def _is_same(document: Document, page: Page) -> bool:
    """Return whether the newest version of a document is ready and has the content of a page."""
    return document.latest.status is VersionStatus.READY and document.latest.sha256 == page.checksum
