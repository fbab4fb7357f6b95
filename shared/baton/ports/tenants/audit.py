"""The port to the audit log: denials and decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from baton.domain.tenants.identity import Scope

_AGENTS = ("agentId", "sourceAgentId", "targetAgentId")
"""Members of a record's detail that name agents."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One action that a user did or tried to do."""

    id: str
    at: datetime
    tenant_id: str
    user_id: str
    thread_id: str | None
    """The thread of the action; None if it was about no thread."""
    action: str
    """The requested action: ``thread.read``, ``thread.write``, ``thread.close``, ``run.cancel`` ..."""
    outcome: str
    """The result: ``denied``, ``not_found``, ``closed``, ``requested`` ..."""
    detail: Mapping[str, Any]

    @property
    def agent_ids(self) -> frozenset[str]:
        """The agents that the action was about."""
        return frozenset(str(value) for name, value in self.detail.items() if name in _AGENTS)

    def matches(self, wanted: Mapping[str, str]) -> bool:
        """Return whether the fields have the ``wanted`` values. ``agent_id`` matches if it is among ``agent_ids``."""
        return all(
            value in self.agent_ids if name == "agent_id" else getattr(self, name) == value
            for name, value in wanted.items()
        )


@dataclass(frozen=True, slots=True)
class Once:
    """The identity of a record that is written once: the first write is kept, repetitions change nothing."""

    key: str
    """A UUID derived from the record's subject (``domain.tenants.identity.derive_record_id``)."""
    at: datetime
    """The time of the action; the same in every attempt."""


class AuditLog(Protocol):
    """Audit records, each in the tenant of the acting user."""

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
        """Write one record into the caller's own tenant, unless that is removed.

        Never raises: a fault here must not change an answer.
        """


class AuditTrail(AuditLog, Protocol):
    """An audit log with readers."""

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """Return a page of a thread's records, the newest first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def of_tenant(
        self,
        scope: Scope,
        wanted: Mapping[str, str],
        *,
        limit: int,
        cursor: str | None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Sequence[AuditRecord], str | None]:
        """Return the tenant's records whose fields have the ``wanted`` values, the newest first, and the next cursor.

        ``wanted`` may name ``action``, ``outcome``, ``user_id``, ``thread_id`` and ``agent_id``. Only records at or
        after ``since`` and at or before ``until`` are returned, and no others are read. A page may have fewer than
        ``limit`` records, or none, and still a next page, because a call reads a limited number of records. Raises
        ``InvalidRequest`` for a cursor that this list did not hand out.
        """
