"""The tenant: its figures and limits, the retention of its data, and its removal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from baton_client.addresses import given
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import CurrentLimits, Overview, Removal, Retention, TenantUsage


class AsyncTenant(AsyncResource):
    """``client.tenant``."""

    async def overview(
        self, *, since: datetime | None = None, until: datetime | None = None, cursor: str | None = None
    ) -> Overview:
        """Return turns, failures, tokens and cost, by agent and day. Its ``next_cursor`` leads to earlier days."""
        times = {"from": since.isoformat() if since else None, "to": until.isoformat() if until else None}
        return await self._get("/v1/overview", Overview, **times, cursor=cursor)

    async def usage(self, *, month: str | None = None, cursor: str | None = None) -> TenantUsage:
        """Return one page of the usage in a month, such as ``2026-03``. The sum of all pages is the month's usage."""
        return await self._get("/v1/usage", TenantUsage, month=month, cursor=cursor)

    async def limits(self) -> CurrentLimits:
        """Return the tenant's own limits, the deployment's, and those in force."""
        return await self._get("/v1/tenant/limits", CurrentLimits)

    async def set_limits(
        self,
        *,
        agents: int | None = None,
        documents_per_agent: int | None = None,
        captures_per_day: int | None = None,
        thread_tokens: int | None = None,
        runs_at_once: int | None = None,
        user_runs_at_once: int | None = None,
        messages_per_minute: int | None = None,
        user_messages_per_minute: int | None = None,
        tokens_per_day: int | None = None,
        user_tokens_per_day: int | None = None,
        connections: int | None = None,
        user_connections: int | None = None,
        follow_streams: int | None = None,
        user_follow_streams: int | None = None,
        self_started_runs: Mapping[str, object] | None = None,
        spending: Mapping[str, object] | None = None,
        version: str | None = None,
    ) -> CurrentLimits:
        """Replace all of the tenant's own limits. A limit that is not given is the deployment's.

        ``self_started_runs`` has the rules for runs that no message begins, such as ``{"enabled": False}``.
        ``spending`` has the rules for what models may cost, such as ``{"tenant": {"perDay": 25.0}}``.
        ``version`` is the ``ETag`` of the edited limits (``limits.http_response.headers["etag"]``).
        """
        body = given(
            agents=agents,
            selfStartedRuns=self_started_runs,
            spending=spending,
            documentsPerAgent=documents_per_agent,
            capturesPerDay=captures_per_day,
            threadTokens=thread_tokens,
            runsAtOnce=runs_at_once,
            userRunsAtOnce=user_runs_at_once,
            messagesPerMinute=messages_per_minute,
            userMessagesPerMinute=user_messages_per_minute,
            tokensPerDay=tokens_per_day,
            userTokensPerDay=user_tokens_per_day,
            connections=connections,
            userConnections=user_connections,
            followStreams=follow_streams,
            userFollowStreams=user_follow_streams,
        )
        headers = {"If-Match": version} if version is not None else {}
        return await self._send("PUT", "/v1/tenant/limits", CurrentLimits, json=body, headers=headers)

    async def retention(self) -> Retention:
        """Return for how many days data is kept."""
        return await self._get("/v1/retention", Retention)

    async def set_retention(
        self,
        *,
        threads: int | None = None,
        episodes: int | None = None,
        audit: int | None = None,
        uploads: int | None = None,
    ) -> Retention:
        """Replace the numbers of days for which data is kept. Data without a number is kept for ever."""
        body = given(threads=threads, episodes=episodes, audit=audit, uploads=uploads)
        return await self._send("PUT", "/v1/retention", Retention, json=body)

    def export(self) -> AsyncIterator[dict[str, Any]]:
        """Yield everything that is stored of the tenant, line by line. It needs the permission ``tenant:export``.

        The address of a file's bytes holds for 15 minutes. Raises ``UnexpectedAnswerError`` if an answer breaks off.
        """
        return self.lines("/v1/tenant-export")

    async def removal(self) -> Removal:
        """Return the progress of the tenant's removal, also after its end."""
        return await self._get("/v1/tenant/removal", Removal)

    async def plan_removal(self) -> Removal:
        """Begin to count what a removal of the tenant would remove. Nothing is removed."""
        return await self._send("POST", "/v1/tenant/removal", Removal)

    async def confirm_removal(self, tenant_id: str, *, plan_id: str, audit: str = "keep") -> Removal:
        """Close the tenant for ever, and begin to remove its data. It cannot be undone.

        ``tenant_id`` is the tenant of the token, and ``plan_id`` a plan that is complete. ``audit`` is ``keep`` or
        ``remove``.
        """
        body = {"tenantId": tenant_id, "planId": plan_id, "audit": audit}
        return await self._send("POST", "/v1/tenant/removal/confirm", Removal, json=body)
