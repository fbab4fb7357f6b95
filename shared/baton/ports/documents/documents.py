"""Ports for documents of agents: their records, their content, and the pipeline that ingests them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.documents.document import Document, DocumentRef, IngestionStep
from baton.domain.tenants.identity import Scope
from baton.ports.documents.files import Upload
from baton_documents.formats import DocumentFormat
from baton_documents.results import DocumentText, ExtractedText, Inspection, Sitemap


class DocumentStore(Protocol):
    """The records of documents of the scope's tenant. Callers check permissions. Raises ``StoreUnavailable``."""

    async def create(self, scope: Scope, document: Document) -> Document:
        """Store a new document; return the existing one if its id is taken in this agent."""

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document | None:
        """Return a document, even a deleted one while its record exists; None if there is no record."""

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        """Return the documents that exist, by id. It takes one request for each 100 ids."""

    async def save(self, scope: Scope, document: Document) -> Document | None:
        """Store the document if nothing was saved since it was read (``Document.revision``).

        Return it with its next revision; None if another change was faster, or the record was removed: read it again.
        """

    async def note_progress(
        self, scope: Scope, ref: DocumentRef, step: IngestionStep, percent: int, at: datetime
    ) -> None:
        """Record the progress of the pipeline, without a ``save``. Progress never decreases.

        Nothing is recorded for a version that is not in progress.
        """

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        """Return a page of the agent's documents that are not deleted, newest first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def count(self, scope: Scope, agent_id: str, *, up_to: int) -> int:
        """Return the number of the agent's documents, at most ``up_to``. The newest may be missing."""

    async def remove(self, scope: Scope, document: Document) -> bool:
        """Remove the record of a deleted document. Return False if another change was faster.

        A missing record counts as removed.
        """

    def due(self, before: datetime) -> AsyncIterator[DocumentRef]:
        """Yield the newest version of each document whose ``check_at`` has passed, in all tenants, for the sweeper."""


class DocumentFiles(Protocol):
    """The content of documents and the files of ingestion between its steps, in S3 below one prefix a version.

    ``ORIGINAL`` is the content, whose upload starts the pipeline. All other names are files of the pipeline. Methods
    raise ``StoreUnavailable``.
    """

    async def presign_upload(
        self, scope: Scope, document: Document, version: int, content_type: str, size: int, sha256: str | None
    ) -> Upload:
        """Return a short-lived address that accepts the content of the version once.

        The content must have exactly ``size`` bytes and, unless None, the digest ``sha256`` in hexadecimal.
        """

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        """Store one file of a version: the fetched ``ORIGINAL``, or the result of a step for the next."""

    async def read(self, scope: Scope, document: Document, version: int, name: str) -> bytes | None:
        """Return one file of a version, or None. Raises ``MessageTooLarge`` over ``MAX_STORED_BYTES``."""

    async def remove(self, scope: Scope, document: Document, version: int, *, with_original: bool) -> int:
        """Remove the files of a version, ``ORIGINAL`` only with ``with_original``.

        Return the number of removed object versions.
        """

    async def list_owners(self, scope: Scope) -> Sequence[str]:
        """Return the agents that have files in the scope's tenant; for the project, its libraries."""


ORIGINAL = "original"
"""The name of a version's content."""
MAX_STORED_BYTES = 128 * 1024 * 1024
"""Bytes of the largest file that is read into memory."""


class Ingestions(Protocol):
    """The pipeline that ingests documents (Step Functions)."""

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime, removes: bool = False) -> None:
        """Start the pipeline, or let it wait for other runs. Repeating an ``attempt`` is not an error.

        ``created_at`` is the document's, and distinguishes it from a removed document with the same id. ``removes`` is
        for a deleted document: the pipeline only removes its data, and does not wait for other runs. Raises
        ``StoreUnavailable``.
        """

    async def rebuild(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """Start a run that indexes the document's active version again. Return False if such a run has not ended.

        The run waits for runs of new versions. Raises ``StoreUnavailable``.
        """

    async def is_pending(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """Return whether a run for the version waits for others or is in progress. Raises ``StoreUnavailable``."""


class TextExtractor(Protocol):
    """An extractor of text and addresses from files, within bounds of memory and time, isolated from its caller.

    Methods raise ``DocumentUnreadable`` for a file that is at fault (encrypted, empty, without text, a bomb, with
    macros, mislabelled, too complex, too slow) and ``ExtractionUnavailable`` if nothing can be extracted at the moment.
    """

    async def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """Return the format of the content, which must be the announced one or a subset of it, and its parts."""

    async def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        """Return the text of one part. A page that cannot be read is an error of that page.

        ``charset`` is the label of the encoding in the media type of a text.
        """

    async def read_sitemap(self, body: bytes, *, limit: int, charset: str | None = None) -> Sitemap:
        """Return the first ``limit`` addresses of a sitemap or of an index of sitemaps."""


class DocumentReader(Protocol):
    """A reader of messages' attachments as text, within bounds of memory and time, isolated from its caller."""

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float) -> DocumentText:
        """Return the document's text, cut at a length that a prompt can hold.

        Raises ``DocumentUnreadable`` if the file is not of the format ``form``, has no text, may not be opened, or
        cannot be read within ``seconds`` or at the moment.
        """
