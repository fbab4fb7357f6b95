"""The port to files that users upload into a thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.errors import NotFound
from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class Upload:
    """The request with which a client uploads one file."""

    file_id: str
    url: str
    method: str
    headers: dict[str, str]
    """Headers that the client must send unchanged, because they are signed."""
    expires_at: datetime


class ThreadFiles(Protocol):
    """The uploaded files of one thread."""

    async def read(self, file_id: str) -> bytes:
        """Return the bytes of an upload. Raises ``NotFound`` if nothing was uploaded under ``file_id``.

        Raises ``MessageTooLarge`` for a file over the limit of uploads, and ``StoreUnavailable``.
        """


class NoFiles:
    """The ``ThreadFiles`` of a request that refers to no files."""

    async def read(self, file_id: str) -> bytes:
        """Raise ``NotFound``."""
        raise NotFound


class Files(Protocol):
    """Uploads of every thread, keyed by tenant and thread. Methods raise ``StoreUnavailable``."""

    async def presign_upload(self, scope: Scope, thread_id: str, name: str, content_type: str, size: int) -> Upload:
        """Return a short-lived address that accepts one file of exactly ``size`` bytes and ``content_type``.

        Raises ``InvalidRequest``, ``UnsupportedPart`` or ``MessageTooLarge`` for a file that is not accepted.
        """

    async def presign_download(self, scope: Scope, thread_id: str, file_id: str) -> str:
        """Return a short-lived address at which the file can be read. Raises ``NotFound``."""

    async def keep(self, scope: Scope, thread_id: str, name: str, content_type: str, body: bytes) -> str:
        """Store a file of an agent's answer, and return its id.

        The same file has the same id in a thread, so that a repeated attempt stores it once.
        Raises ``InvalidRequest``, ``UnsupportedPart`` and ``MessageTooLarge`` as ``presign_upload`` does.
        """

    def of_thread(self, scope: Scope, thread_id: str) -> ThreadFiles:
        """Return the files of one thread."""
