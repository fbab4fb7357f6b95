"""Files that users upload into a thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class Upload:
    """Where and how a client puts one file."""

    file_id: str
    url: str
    method: str
    headers: dict[str, str]
    """Headers the client must send exactly so; they are part of the signature."""
    expires_at: datetime


class ThreadFiles(Protocol):
    """The uploaded files of the one thread that is being answered."""

    async def read(self, file_id: str) -> bytes:
        """The bytes of an upload of this thread. Raises ``NotFound`` if nothing was uploaded under ``file_id``."""
        ...


class Files(Protocol):
    """Uploads of every thread, keyed by tenant and thread."""

    async def presign_upload(self, scope: Scope, thread_id: str, name: str, content_type: str, size: int) -> Upload:
        """A short-lived address that takes exactly one file of ``size`` bytes and ``content_type``."""
        ...

    async def download_url(self, scope: Scope, thread_id: str, file_id: str) -> str:
        """A short-lived address to read the file from."""
        ...

    def of_thread(self, scope: Scope, thread_id: str) -> ThreadFiles:
        """The files of one thread."""
        ...
