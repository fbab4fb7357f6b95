"""A spending limit refuses messages at every door, with the time of its reset."""

from __future__ import annotations

from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import new_id


async def test_a_used_up_limit_refuses_messages_over_http_and_websocket_with_the_time_of_reset(
    new_user: NewUser,
) -> None:
    boss, alice = new_user("boss", "tenant:manage"), new_user("alice")
    body = {"spending": {"tenant": {"perDay": 0}}}
    assert (await boss.request("PUT", "/tenant/limits", body=body)).status_code == 200
    refused = await alice.post("/messages", {"message": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (429, "spending_limit_reached")
    assert refused.json()["resetsAt"].endswith("T00:00:00.000Z")
    async with alice.connect() as socket:
        await socket.send("message", threadId=new_id(), messageId="m-1", content="Hello")
        assert (await socket.receive())["name"] == "message_accepted"
        refusal = await socket.receive_refusal()
    assert (refusal["code"], refusal["metadata"]["retryable"]) == ("spending_limit_reached", False)
    assert refusal["metadata"]["resetsAt"] == refused.json()["resetsAt"]
