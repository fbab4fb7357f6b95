"""The contract of every store of calls over MCP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.ports.threads.run_records import McpCall
from tests.contracts.stores import Stores, new_thread_id

CALL = McpCall("s-1", "1", "550e8400-e29b-41d4-a716-446655440000", "r-1")


class McpCallsContract:
    """Calls are kept by user, session and request id."""

    @pytest.mark.parametrize("request_id", ["1", '"1"', '"日本語#"', "-5"])
    async def test_a_call_is_found_by_its_ids(self, stores: Stores, request_id: str) -> None:
        call = replace(CALL, request_id=request_id, thread_id=new_thread_id())
        await stores.mcp_calls.note_begun(stores.ada, call)
        assert await stores.mcp_calls.find(stores.ada, call.session_id, request_id) == call

    async def test_a_later_call_replaces_an_earlier_one(self, stores: Stores) -> None:
        await stores.mcp_calls.note_begun(stores.ada, CALL)
        later = replace(CALL, run_id="r-2")
        await stores.mcp_calls.note_begun(stores.ada, later)
        assert await stores.mcp_calls.find(stores.ada, "s-1", "1") == later

    async def test_other_requests_sessions_users_and_tenants_have_no_such_call(self, stores: Stores) -> None:
        await stores.mcp_calls.note_begun(stores.ada, CALL)
        assert await stores.mcp_calls.find(stores.ada, "s-1", '"1"') is None
        assert await stores.mcp_calls.find(stores.ada, "s-2", "1") is None
        assert await stores.mcp_calls.find(stores.bob, "s-1", "1") is None
        assert await stores.mcp_calls.find(stores.stranger, "s-1", "1") is None

    async def test_a_call_is_forgotten_after_an_hour(self, stores: Stores) -> None:
        await stores.mcp_calls.note_begun(stores.ada, CALL)
        stores.clock.advance(3600)
        assert await stores.mcp_calls.find(stores.ada, "s-1", "1") is None
