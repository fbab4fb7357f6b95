"""Files in memory, under the same rules as the real store."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from urllib.parse import quote

from baton.adapters.aws.s3_files import MAX_FILE_BYTES, VALID_FOR, check_upload, derive_file_id
from baton.domain.errors import MessageTooLarge, NotFound
from baton.domain.tenants.identity import Scope
from baton.ports.documents.files import ThreadFiles, Upload


class FakeFiles:
    """``Files`` with ``put`` for the client that uploads. ``bodies`` are by tenant, thread and file id."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str, str], bytes] = {}
        self._uploads: dict[str, tuple[tuple[str, str, str], int]] = {}

    async def presign_upload(self, scope: Scope, thread_id: str, name: str, content_type: str, size: int) -> Upload:
        content_type = check_upload(name, content_type, size)
        file_id = f"file_{uuid.uuid4().hex}"
        url = f"https://files.invalid/{file_id}"
        self._uploads[url] = ((scope.tenant_id, thread_id, file_id), size)
        headers = {"Content-Type": content_type, "Content-Length": str(size), "x-amz-meta-name": quote(name, safe="")}
        return Upload(file_id, url, "PUT", headers, datetime.now(UTC) + VALID_FOR)

    async def presign_download(self, scope: Scope, thread_id: str, file_id: str) -> str:
        await self.of_thread(scope, thread_id).read(file_id)
        return f"https://files.invalid/{file_id}?download"

    async def keep(self, scope: Scope, thread_id: str, name: str, content_type: str, body: bytes) -> str:
        content_type = check_upload(name, content_type, len(body))
        file_id = derive_file_id(name, content_type, body)
        self.bodies[scope.tenant_id, thread_id, file_id] = body
        return file_id

    def of_thread(self, scope: Scope, thread_id: str) -> ThreadFiles:
        return _FakeThreadFiles(self, scope.tenant_id, thread_id)

    def put(self, upload: Upload, body: bytes) -> None:
        """Upload ``body`` as a client would. Raises ``ValueError`` if its size is not the announced one."""
        key, size = self._uploads[upload.url]
        if len(body) != size:
            raise ValueError("SignatureDoesNotMatch")
        self.bodies[key] = body


class _FakeThreadFiles:
    def __init__(self, files: FakeFiles, tenant_id: str, thread_id: str) -> None:
        self._files = files
        self._tenant_id = tenant_id
        self._thread_id = thread_id

    async def read(self, file_id: str) -> bytes:
        body = self._files.bodies.get((self._tenant_id, self._thread_id, file_id))
        if body is None:
            raise NotFound("There is no such file in this conversation.")
        if len(body) > MAX_FILE_BYTES:
            raise MessageTooLarge("A file may have at most 20 MiB.")
        return body
