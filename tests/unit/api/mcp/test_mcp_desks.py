"""A conversation over MCP that goes to the people of a desk."""

from __future__ import annotations

from tests.harness.desks import DeskHarness
from tests.unit.api.mcp_client import McpServed, read_structured


async def test_a_message_that_goes_to_people_is_delivered() -> None:
    harness = DeskHarness()
    harness.model.script("Ada wants a person.")
    async with McpServed.over(harness).client() as client:
        answer = read_structured(await client.call_tool("assistant", {"message": "I want to talk to a human"}))
        assert (answer["state"], "Somebody will answer" in answer["message"]) == ("completed", True)
        body = {"message": "Are you there?", "thread_id": answer["thread_id"]}
        delivered = read_structured(await client.call_tool("assistant", body))
    assert (delivered["state"], delivered["message"]) == ("delivered", "")
