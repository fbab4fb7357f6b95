"""The audit trail: actions with their users and reasons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import AuditRecord


class AsyncAudit(AsyncResource):
    """``client.audit``. Needs ``audit:read``. ``client.threads.audit`` lists the records of one conversation."""

    def list(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        action: str | None = None,
        outcome: str | None = None,
        user_id: str | None = None,
        thread_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncPager[AuditRecord]:
        """List records of the tenant, the newest first."""
        params = _make_filters(since, until, action, outcome, user_id, thread_id, agent_id)
        return self._list("/v1/audit", AuditRecord, **params, limit=limit)

    def export(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        action: str | None = None,
        outcome: str | None = None,
        user_id: str | None = None,
        thread_id: str | None = None,
        agent_id: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield all records, as the server's JSON. Raises ``UnexpectedAnswerError`` if the export is incomplete."""
        params = _make_filters(since, until, action, outcome, user_id, thread_id, agent_id)
        return self.lines("/v1/audit/export", **params)


def _make_filters(
    since: datetime | None,
    until: datetime | None,
    action: str | None,
    outcome: str | None,
    user_id: str | None,
    thread_id: str | None,
    agent_id: str | None,
) -> dict[str, Any]:
    return {
        "from": since.isoformat() if since else None,
        "to": until.isoformat() if until else None,
        "action": action,
        "outcome": outcome,
        "userId": user_id,
        "threadId": thread_id,
        "agentId": agent_id,
    }
