"""The record of what was refused and decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from baton.domain.identity import Scope
from baton.domain.times import iso


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """That a user did, or tried to do, something."""

    id: str
    at: datetime
    tenant_id: str
    user_id: str
    thread_id: str | None
    """None: it was about no thread."""
    action: str
    """What was asked for: ``thread.read``, ``thread.write``, ``thread.close``, ``run.cancel`` ..."""
    outcome: str
    """What became of it: ``denied``, ``not_found``, ``closed``, ``requested`` ..."""
    detail: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "timestamp": iso(self.at),
            "tenantId": self.tenant_id,
            "userId": self.user_id,
            "threadId": self.thread_id,
            "action": self.action,
            "outcome": self.outcome,
            "detail": dict(self.detail),
        }


@dataclass(frozen=True, slots=True)
class Once:
    """Makes one record of every attempt to write it: the first is kept, the others change nothing."""

    key: str
    """A UUID of what the record is about (``domain.identity.derived_record_id``)."""
    at: datetime
    """When it happened, the same at every attempt."""


class AuditLog(Protocol):
    """Audit records of a tenant; never another's."""

    async def record(
        self,
        scope: Scope,
        action: str,
        *,
        thread_id: str | None,
        outcome: str,
        detail: dict[str, Any],
        once: Once | None = None,
    ) -> None:
        """Write one record into the caller's own tenant. Never raises: an audit fault must not change an answer."""
        ...

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """A thread's records, the newest first, and the cursor of the next page. Raises ``InvalidRequest``."""
        ...

    async def of_tenant(
        self, scope: Scope, wanted: Mapping[str, str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """The tenant's records whose fields have the ``wanted`` values, the newest first, and the next cursor.

        ``wanted`` may name ``action``, ``outcome``, ``user_id`` and ``thread_id``. A page may hold fewer than
        ``limit``, or none, and still have a next one: one answer looks through so many records only. Raises
        ``InvalidRequest``.
        """
        ...
