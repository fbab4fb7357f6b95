"""Documents of agents: their records, their content, and the pipeline that ingests them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from baton.domain.document import Document, DocumentFormat
from baton.domain.extracted import ExtractedText
from baton.domain.identity import Scope
from baton.ports.files import Upload


class DocumentStore(Protocol):
    """The records of documents. Every method acts inside the scope's tenant; the caller checks permissions.

    Methods raise ``StoreUnavailable`` if the table does not answer.
    """

    async def create(self, scope: Scope, document: Document) -> Document:
        """Store a new document; return the one that is there if its id is taken in this agent."""
        ...

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document | None:
        """Return a document, deleted ones too while their record exists."""
        ...

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        """Return those of the documents that exist, by id: one request for each 100 ids."""
        ...

    async def save(self, scope: Scope, document: Document, *, expected: Document) -> bool:
        """Store the document if the stored one still equals ``expected`` in its versions' numbers, states and deletion.

        Return whether it was stored.
        """
        ...

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        """Return a page of the agent's documents that are not deleted, newest first, and the next page's cursor."""
        ...

    async def remove(self, scope: Scope, agent_id: str, document_id: str) -> None:
        """Remove the record of a deleted document."""
        ...


class DocumentFiles(Protocol):
    """The content of documents and what ingestion keeps between its steps, in S3 below one prefix a version."""

    async def presign_upload(
        self, scope: Scope, document: Document, version: int, content_type: str, size: int, sha256: str | None
    ) -> Upload:
        """Return a short-lived address that accepts exactly these bytes for the version."""
        ...

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        """Store one file of a version: the fetched ``original``, or what a step keeps for the next."""
        ...

    async def read(self, scope: Scope, document: Document, version: int, name: str) -> bytes | None:
        """Return one file of a version, or None."""
        ...

    async def remove(self, scope: Scope, document: Document, *, version: int | None = None) -> int:
        """Remove the files of a version, or of the whole document, all object versions too; return how many."""
        ...


class Ingestions(Protocol):
    """Starts the pipeline that ingests documents (Step Functions)."""

    async def start(self, scope: Scope, agent_id: str, document_id: str, version: int, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is no error. Raises ``StoreUnavailable``."""
        ...


class TextExtractor(Protocol):
    """Extracts text from files. Implementations are synchronous, CPU-bound and bounded in memory and time.

    Methods raise ``DocumentUnreadable`` (encrypted, empty, without text, a bomb, with macros, mislabelled).
    """

    def detect(self, body: bytes, name: str, content_type: str) -> DocumentFormat:
        """Return the format that the content has; it must be the announced one or a subset of it."""
        ...

    def parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        """Divide a file into parts, each a range of pages (first, last), that one invocation can extract."""
        ...

    def extract(self, body: bytes, form: DocumentFormat, part: tuple[int, int]) -> ExtractedText:
        """Return the text of one part. A page that cannot be read is an error of that page."""
        ...
