"""The record of what was refused and decided (S3)."""

from __future__ import annotations

from typing import Any, Protocol

from baton.domain.identity import Scope


class AuditLog(Protocol):
    """Audit records of a tenant."""

    async def record(self, scope: Scope, action: str, *, thread_id: str, outcome: str, detail: dict[str, Any]) -> None:
        """Write one record into the caller's own tenant. Never raises: an audit fault must not change an answer."""
        ...
