"""Agents as MCP tools: the list, conversations, progress, retries and cancellation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import MCPError

from baton.api.mcp import router
from baton.api.runs.sse import Timing
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import IDEMPOTENCY_KEY, TIME_ZONE_KEY
from baton.domain.errors import ModelUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending_rules import SpendingRules
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.run_end import OutcomeType
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.mcp_client import ACCEPT, MODES, Json, McpServed, open_to_mcp, read_structured, request

TUTOR = ASSISTANT.model_copy(
    update={"id": "tutor", "name": "Tutor", "required_permissions": ("tutor:ask",), "mcp": True}
)


@pytest.fixture
def served() -> McpServed:
    return McpServed.over()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """The protocol line of the client."""
    return str(request.param)


async def names(served: McpServed, *permissions: str, **who: Any) -> list[str]:
    async with served.client(*permissions, **who) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_agents_that_allow_it_are_tools_for_those_who_may_talk_to_them(mode: str) -> None:
    served = McpServed.over(Harness(assistant=open_to_mcp(), others=(TUTOR,)))
    assert await names(served, mode=mode) == ["assistant"]
    assert await names(served, "tutor:ask", mode=mode) == ["assistant", "tutor"]
    assert await names(served, "archive:read", mode=mode) == ["assistant"]  # the librarian does not allow it


def test_an_agent_that_no_conversation_begins_with_is_no_tool() -> None:
    with pytest.raises(ValueError, match="set `main` too"):
        AgentDefinition.model_validate(ASSISTANT.model_dump() | {"main": False, "mcp": True})


async def test_work_of_a_request_counts_for_the_callers_tenant(
    served: McpServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenants: list[str] = []
    monkeypatch.setattr(router, "work_for", tenants.append)
    await names(served, tenant="eves-own")
    assert set(tenants) == {"eves-own"}


async def test_many_tools_come_in_pages(served: McpServed) -> None:
    others = tuple(open_to_mcp(ASSISTANT, id=f"tutor-{number:03d}") for number in range(150))
    served = McpServed.over(Harness(assistant=open_to_mcp(), others=others))
    async with served.client() as client:
        first = await client.list_tools()
        second = await client.list_tools(cursor=first.next_cursor)
        assert second.next_cursor is None
        listed = [tool.name for tool in (*first.tools, *second.tools)]
        assert listed == ["assistant", *(agent.id for agent in others)]
        with pytest.raises(MCPError, match="cursor"):
            await client.list_tools(cursor="x")


async def test_a_tool_shows_what_its_calls_may_do() -> None:
    acting = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "wiki:delete"}
    actor = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"id": "actor", "main": False, "tools": [acting]})
    asking = open_to_mcp(id="asking", sub_agents=("actor",))
    served = McpServed.over(Harness(assistant=open_to_mcp(), others=(actor, asking)))
    async with served.client() as client:
        indirect, plain = (await client.list_tools()).tools
    assert (plain.title, plain.description) == ("Assistant", "Answers.")
    for tool, acts in ((plain, False), (indirect, True)):
        assert tool.annotations is not None
        reported = tool.annotations.model_dump(exclude={"title"})
        assert reported == {
            "read_only_hint": False,
            "idempotent_hint": False,
            "destructive_hint": acts,
            "open_world_hint": acts,
        }


async def test_a_conversation_goes_on_under_the_id_of_its_first_result(served: McpServed, mode: str) -> None:
    served.harness.model.script("I am Ada's.", "Still me.")
    async with served.client(mode=mode) as client:
        first = read_structured(await client.call_tool("assistant", {"message": "Who are you?"}))
        assert (first["message"], first["state"]) == ("I am Ada's.", "completed")
        second = read_structured(
            await client.call_tool("assistant", {"message": "And now?", "thread_id": first["thread_id"]})
        )
    assert second == {"thread_id": first["thread_id"], "message": "Still me.", "state": "completed"}
    messages, _ = await served.items(f"/threads/{first['thread_id']}/messages")
    assert [message["content"] for message in messages] == ["Who are you?", "I am Ada's.", "And now?", "Still me."]


async def test_a_failure_of_the_model_is_a_result_and_the_conversation_goes_on(served: McpServed, mode: str) -> None:
    served.harness.model.script(ModelUnavailable(), ModelUnavailable(), ModelUnavailable(), "Here again.")
    async with served.client(mode=mode) as client:
        failed = await client.call_tool("assistant", {"message": "Hello"})
        reported = read_structured(failed)
        assert failed.is_error
        assert (reported["state"], reported["code"], reported["retryable"]) == ("failed", "model_unavailable", True)
        served.harness.model.forget()
        served.harness.model.script("Here again.")
        after = await client.call_tool("assistant", {"message": "Again", "thread_id": reported["thread_id"]})
    assert read_structured(after)["message"] == "Here again."


async def test_a_first_message_that_is_refused_begins_no_conversation(mode: str) -> None:
    harness = Harness(assistant=open_to_mcp())
    harness.deployment_limits = DeploymentLimits(spending=SpendingRules(enabled=False))
    served = McpServed.over(harness)
    async with served.client(mode=mode) as client:
        reported = read_structured(await client.call_tool("assistant", {"message": "Hello"}))
        assert (reported["code"], reported.get("thread_id")) == ("models_stopped", None)
        harness.deployment_limits = DeploymentLimits()
        assert read_structured(await client.call_tool("assistant", {"message": "Again"}))["message"]


async def test_progress_is_reported_while_the_agent_works(mode: str) -> None:
    served = McpServed.over(timing=Timing(comment_seconds=1.0))
    gate = asyncio.Event()
    served.harness.model.script(Answer(("Slow.",), gate=gate))
    notifications: list[tuple[float, str | None]] = []

    async def progress(step: float, total: float | None, message: str | None) -> None:
        assert total is None
        notifications.append((step, message))

    async with served.client(mode=mode) as client:
        asking = asyncio.ensure_future(client.call_tool("assistant", {"message": "Hello"}, progress_callback=progress))
        await served.harness.wait_for_requests()
        await asyncio.sleep(2.5)
        gate.set()
        assert read_structured(await asking)["message"] == "Slow."
    steps, messages = zip(*notifications, strict=True)
    assert list(steps) == sorted(set(steps))
    assert messages[:3] == ("The agent is working.",) * 3
    assert messages[-1] == "Assistant is answering."


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_carries_the_users_time_zone_in_its_meta(served: McpServed, mode: str) -> None:
    async with served.client(mode=mode) as client:
        zone: Any = {TIME_ZONE_KEY: "Asia/Tokyo"}
        read_structured(await client.call_tool("assistant", {"message": "Hello"}, meta=zone))
        wrong: Any = {TIME_ZONE_KEY: "Mars/Olympus"}
        refused = await client.call_tool("assistant", {"message": "Hello"}, meta=wrong)
    assert ("system", "Today is Thursday, 1 March 2040 (Asia/Tokyo).") in served.harness.model.requests[-1].contents
    assert refused.is_error
    assert TIME_ZONE_KEY in str(refused.content)
    assert len(served.harness.model.requests) == 1


async def test_a_call_with_the_key_of_an_earlier_one_gets_its_result(served: McpServed, mode: str) -> None:
    served.harness.model.script("The one answer.", "Another.")
    meta: Any = {IDEMPOTENCY_KEY: "call-1"}
    async with served.client(mode=mode) as client:
        first = read_structured(await client.call_tool("assistant", {"message": "Hello"}, meta=meta))
        second_answer = read_structured(await client.call_tool("assistant", {"message": "Hello"}, meta=meta))
        other = await client.call_tool("assistant", {"message": "Something else"}, meta=meta)
        unkeyed = read_structured(await client.call_tool("assistant", {"message": "Hello"}))
    assert first == second_answer
    assert read_structured(other)["code"] == "message_id_conflict"
    assert unkeyed["thread_id"] != first["thread_id"]
    assert len(served.harness.model.requests) == 2


async def test_another_users_conversation_is_as_unknown_as_one_that_does_not_exist(served: McpServed) -> None:
    async with served.client() as client:
        started = read_structured(await client.call_tool("assistant", {"message": "A secret."}))
    unknown = "00000000-0000-4000-8000-000000000000"
    request_count = len(served.harness.model.requests)
    for who in ({"user": "eve"}, {"tenant": "eves-own"}):
        async with served.client(**who) as client:  # type: ignore[arg-type]
            for fields in ({"message": "Go on."}, {"answer": {"approved": True}}):
                reported = [
                    read_structured(await client.call_tool("assistant", {"thread_id": item} | fields))
                    for item in (started["thread_id"], unknown)
                ]
                assert reported[0] == reported[1]
                assert reported[0]["code"] == "thread_unavailable"
    assert len(served.harness.model.requests) == request_count
    refusals = {(record.scope.user_id, record.outcome) for record in served.harness.audit.records}
    assert ("eve", "denied") in refusals


async def test_a_tool_does_not_go_on_with_another_agents_conversation() -> None:
    served = McpServed.over(Harness(assistant=open_to_mcp(), others=(TUTOR,)))
    async with served.client("tutor:ask") as client:
        started = read_structured(await client.call_tool("tutor", {"message": "Hello"}))
        other = read_structured(
            await client.call_tool("assistant", {"message": "Hello", "thread_id": started["thread_id"]})
        )
    assert other["code"] == "agent_mismatch"


async def test_a_tenants_own_agent_is_a_tool_of_that_tenant_only(served: McpServed) -> None:
    own = {"name": "Tutor", "description": "Teaches.", "systemPrompt": "Teach.", "main": True, "mcp": True}
    async with served._client("ada", "agent:write") as client:
        created = await client.put("/agents/tutor", json=own)
        assert created.status_code in (200, 201), created.text
    assert await names(served) == ["assistant", "tutor"]
    assert await names(served, tenant="eves-own") == ["assistant"]
    async with served.client(tenant="eves-own") as client:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("tutor", {"message": "Hello"})


@pytest.mark.parametrize("name", ["nobody", "librarian", "tutor", "", "x" * 5_000])
async def test_a_tool_that_the_caller_does_not_see_is_unknown(mode: str, name: str) -> None:
    served = McpServed.over(Harness(assistant=open_to_mcp(), others=(TUTOR,)))
    async with served.client("archive:read", mode=mode) as client:
        with pytest.raises(MCPError, match="Unknown tool") as refused:
            await client.call_tool(name, {"message": "Hello"})
    assert refused.value.code == -32602
    assert served.harness.model.requests == []


# Cancelling


async def outcomes(served: McpServed, thread_id: str, user: str = "ada") -> list[str]:
    """The ends of a thread's runs."""
    store, scope = served.harness.store, Scope(served.harness.ada.tenant_id, user)
    thread = await store.get_thread(scope, thread_id)
    page = await store.read_messages(scope, thread, limit=50, before=None)
    return [message.end.outcome.value for message in page.messages if message.end is not None]


async def only_thread(served: McpServed) -> str:
    items, _ = await served.items("/threads")
    [thread] = items
    return str(thread["id"])


async def wait_for_outcomes(served: McpServed) -> list[str]:
    """The outcomes of the only thread, once its run has ended."""
    thread_id = await only_thread(served)
    async with asyncio.timeout(60):
        while not (result := await outcomes(served, thread_id)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # the fake has no event for it
    return result


async def test_a_client_that_gives_up_its_call_cancels_the_run(served: McpServed) -> None:
    """Of the line before 2026-07-28: by a notification, which another process may get."""
    served.harness.model.script(Answer(("Never ", "said."), gate=asyncio.Event(), gate_at=1))
    async with served.client(mode="legacy") as client:
        asking = asyncio.ensure_future(client.call_tool("assistant", {"message": "Hello"}))
        await served.harness.wait_for_requests()
        asking.cancel()
        assert await wait_for_outcomes(served) == [OutcomeType.CANCELLED]


async def initialise(served: McpServed) -> str:
    """The session of a client of the previous line."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = await served.send(request("initialize", **params))
    return answer.headers["mcp-session-id"]


@pytest.mark.parametrize("whose", ["other session", "no session", "other user", "other request"])
async def test_nobody_else_cancels_a_call(served: McpServed, whose: str) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("Said.",), gate=gate))
    session = await initialise(served)
    call = request("tools/call", 7, name="assistant", arguments={"message": "Hello"})
    asking = asyncio.ensure_future(served.send(call, Mcp_Session_Id=session))
    await served.harness.wait_for_requests()
    request_id = 8 if whose == "other request" else 7
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    headers = {"Mcp_Session_Id": session}
    if whose == "other session":
        headers = {"Mcp_Session_Id": await initialise(served)}
    elif whose == "no session":
        headers = {}
    taken = await served.send(note, user="eve" if whose == "other user" else "ada", **headers)
    assert taken.status_code == 202
    gate.set()
    await asking
    assert await wait_for_outcomes(served) == [OutcomeType.SUCCESS]


@pytest.mark.parametrize(
    ("version", "key", "outcome"),
    [
        ("2026-07-28", None, OutcomeType.CANCELLED),
        ("2026-07-28", "call-1", OutcomeType.SUCCESS),
        ("2025-11-25", None, OutcomeType.SUCCESS),
    ],
    ids=["a cancellation since 2026-07-28", "unless the client may call again", "a lost connection before"],
)
async def test_a_closed_connection_is(served: McpServed, version: str, key: str | None, outcome: OutcomeType) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("Said", " all."), gate=gate, gate_at=1))
    meta: Json = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    if key is not None:
        meta[IDEMPOTENCY_KEY] = key
    call = request("tools/call", 7, name="assistant", arguments={"message": "Hello"}, _meta=meta)
    hung_up = asyncio.Event()
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "assistant"}
    asking = asyncio.ensure_future(by_hand(served, call, headers, hung_up))
    await served.harness.wait_for_requests()
    hung_up.set()
    await asking
    if outcome is OutcomeType.SUCCESS:
        gate.set()
    assert await wait_for_outcomes(served) == [outcome]


async def by_hand(served: McpServed, body: Json, headers: dict[str, str], hung_up: asyncio.Event) -> None:
    """POST to the application, and hang up on request."""
    sent = ACCEPT | headers | {"Authorization": f"Bearer {served.harness.ada.tenant_id},ada", "Host": "baton.test"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("baton.test", 80),
    }
    parts = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> Json:
        if parts:
            return parts.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Json) -> None:
        """Take everything, also after the client has gone, as servers do."""

    await served.app(scope, receive, send)  # type: ignore[arg-type]
