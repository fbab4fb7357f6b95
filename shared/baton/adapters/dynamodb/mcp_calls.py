"""Calls over MCP on DynamoDB: one item a call, in its user's partition."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.domain.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton.ports.run_records import McpCall

KEPT_SECONDS = 3600
"""Longer than any run."""


class DynamoMcpCalls:
    """``McpCalls`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def begun(self, scope: Scope, call: McpCall) -> None:
        now = self._clock.now()
        await self._table.put(
            {
                **keys.mcp_call(scope, call.session_id, call.request_id),
                "thread_id": call.thread_id,
                "run_id": call.run_id,
                "changed_at": to_millis(now),  # for the forgetting of its user
                "expires_at": int(now.timestamp()) + KEPT_SECONDS,
            }
        )

    async def find(self, scope: Scope, session_id: str, request_id: str) -> McpCall | None:
        item = await self._table.get(keys.mcp_call(scope, session_id, request_id))
        if item is None or item["expires_at"] <= self._clock.now().timestamp():
            return None
        return McpCall(session_id, request_id, item["thread_id"], item["run_id"])
