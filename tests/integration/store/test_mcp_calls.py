"""Every store of calls over MCP keeps its contract."""

from __future__ import annotations

from tests.contracts.mcp_calls import McpCallsContract


class TestMcpCalls(McpCallsContract):
    pass
