"""The content and the ingestion of documents, in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from baton.adapters.aws.s3_files import VALID_FOR
from baton.domain.documents.document import Document, DocumentRef
from baton.domain.errors import MessageTooLarge
from baton.domain.tenants.identity import Scope
from baton.ports.documents.documents import MAX_STORED_BYTES, ORIGINAL
from baton.ports.documents.files import Upload


class FakeDocumentFiles:
    """``ports.documents.documents.DocumentFiles``; ``put`` plays the client that uploads.

    ``bodies``: (tenant, agent, document, version) -> name -> bytes.
    """

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str, str, int], dict[str, bytes]] = {}
        self.before_write: Callable[[], Awaitable[None]] | None = None
        self._uploads: dict[str, tuple[tuple[str, str, str, int], int, str | None]] = {}

    async def presign_upload(
        self, scope: Scope, document: Document, version: int, content_type: str, size: int, sha256: str | None
    ) -> Upload:
        url = f"https://files.invalid/{scope.tenant_id}/{document.agent_id}/{document.id}/{version}"
        self._uploads[url] = (scope.tenant_id, document.agent_id, document.id, version), size, sha256
        headers = {"Content-Type": content_type, "Content-Length": str(size), "If-None-Match": "*"}
        return Upload(document.id, url, "PUT", headers, datetime.now(UTC) + VALID_FOR)

    async def put(self, upload: Upload, body: bytes) -> None:
        """Send ``body`` as a client would. Other bytes than those announced, and a second upload, are refused."""
        location, size, sha256 = self._uploads[upload.url]
        if len(body) != size or sha256 not in (None, hashlib.sha256(body).hexdigest()):
            raise ValueError("SignatureDoesNotMatch")
        if ORIGINAL in self.bodies.get(location, {}):
            raise ValueError("PreconditionFailed")
        self.bodies.setdefault(location, {})[ORIGINAL] = body

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        if self.before_write is not None:
            await self.before_write()
        self.bodies.setdefault((scope.tenant_id, document.agent_id, document.id, version), {})[name] = body

    async def read(self, scope: Scope, document: Document, version: int, name: str) -> bytes | None:
        body = self.bodies.get((scope.tenant_id, document.agent_id, document.id, version), {}).get(name)
        if body is not None and len(body) > MAX_STORED_BYTES:
            raise MessageTooLarge("A stored file is too large to be read.")
        return body

    async def remove(self, scope: Scope, document: Document, version: int, *, with_original: bool) -> int:
        if self.before_write is not None:
            await self.before_write()
        key = scope.tenant_id, document.agent_id, document.id, version
        files = self.bodies.pop(key, {})
        if not with_original and ORIGINAL in files:
            self.bodies[key] = {ORIGINAL: files.pop(ORIGINAL)}
        return len(files)

    async def list_owners(self, scope: Scope) -> list[str]:
        return sorted({agent for tenant, agent, _, _ in self.bodies if tenant == scope.tenant_id})


@dataclass
class FakeIngestions:
    """``Ingestions``: the pipelines that were started, each attempt once in a document's life."""

    started: list[tuple[DocumentRef, int]] = field(default_factory=list)
    failure: Exception | None = None
    """The result of starting."""
    pending: set[DocumentRef] = field(default_factory=set)
    """Versions whose runs wait for others or are in progress."""
    rebuilds: list[DocumentRef] = field(default_factory=list)
    """Versions whose rebuilds wait or are in progress."""
    _names: set[tuple[DocumentRef, int, datetime]] = field(default_factory=set)

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime, removes: bool = False) -> None:
        if self.failure is not None:
            raise self.failure
        if (ref, attempt, created_at) not in self._names:
            self._names.add((ref, attempt, created_at))
            self.started.append((ref, attempt))

    async def rebuild(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        if self.failure is not None:
            raise self.failure
        if ref in self.rebuilds:
            return False
        self.rebuilds.append(ref)
        return True

    async def is_pending(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        return ref in self.pending
