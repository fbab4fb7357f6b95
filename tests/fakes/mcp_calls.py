"""Calls over MCP in memory."""

from __future__ import annotations

from baton.adapters.dynamodb.threads.run_records import KEPT_SECONDS
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.threads.run_records import McpCall


class FakeMcpCalls:
    """``ports.threads.run_records.McpCalls``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.calls: dict[tuple[str, str, str, str], tuple[McpCall, float]] = {}

    async def note_begun(self, scope: Scope, call: McpCall) -> None:
        key = (scope.tenant_id, scope.user_id, call.session_id, call.request_id)
        self.calls[key] = (call, self._clock.now().timestamp() + KEPT_SECONDS)

    async def find(self, scope: Scope, session_id: str, request_id: str) -> McpCall | None:
        stored = self.calls.get((scope.tenant_id, scope.user_id, session_id, request_id))
        return stored[0] if stored is not None and stored[1] > self._clock.now().timestamp() else None
