"""Conversations over MCP with the protocol's own client, on both of its lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from baton.domain.agents.tool import IDEMPOTENCY_KEY
from tests.e2e.fixtures import NewUser
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, calls_tools
from tests.forked import ForkedProcess

LINES = ("2026-07-28", "legacy")


@pytest.fixture(params=LINES)
def line(request: pytest.FixtureRequest) -> str:
    """The protocol since 2026-07-28, and before."""
    return str(request.param)


@asynccontextmanager
async def connect(user: User, line: str = LINES[0], url: str | None = None, **options: Any) -> AsyncIterator[Client]:
    """The user's client."""
    http = httpx2.AsyncClient(headers=user.headers, timeout=60, trust_env=False)
    transport = streamable_http_client(f"{url or user.cloud.url}/mcp", http_client=http)
    async with http, Client(transport, mode=line, **options) as client:
        yield client


def read_structured(result: types.CallToolResult) -> Json:
    content: Json = result.structured_content
    return content


async def wait_for_end(user: User, thread_id: str) -> Json:
    """The thread, once its run has ended."""
    async with asyncio.timeout(30):
        while True:
            thread = await user.read(f"/threads/{thread_id}")
            if thread["run"] is None:
                return thread
            await asyncio.sleep(0.1)


async def newest_thread(user: User) -> str:
    """The only thread of the user."""
    [thread] = (await user.read("/threads"))["items"]
    return str(thread["id"])


async def test_a_conversation_of_several_turns(line: str, alice: User, model: FaultModel) -> None:
    model.script(answers("One two three.", delay=0.05), answers("Four."))
    steps: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async with connect(alice, line) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["assistant", "careful"]
        first = read_structured(await client.call_tool("assistant", {"message": "Count"}, progress_callback=progress))
        second = read_structured(
            await client.call_tool("assistant", {"message": "On", "thread_id": first["thread_id"]})
        )
    assert (first["message"], first["state"], second["message"]) == ("One two three.", "completed", "Four.")
    assert steps == ["The agent is working.", "Assistant is answering."]
    messages = await alice.messages(first["thread_id"])
    assert [message["content"] for message in messages] == ["Count", "One two three.", "On", "Four."]


async def test_an_approval_is_asked_and_given(line: str, alice: User, model: FaultModel) -> None:
    model.script(calls_tools(("delete_page", {"page": "home"}), text="May I?"), answers("That did not work."))
    async with connect(alice, line) as client:
        request = read_structured(await client.call_tool("careful", {"message": "Delete it"}))
        assert request["state"] == "input_required"
        [question] = request["questions"]
        assert (question["tool"], json.loads(question["arguments"])) == ("delete_page", {"page": "home"})
        answer = {"approved": True, "interrupt_id": question["interrupt_id"]}
        after = read_structured(
            await client.call_tool("careful", {"thread_id": request["thread_id"], "answer": answer})
        )
    assert after["message"].endswith("That did not work.")  # after the sentence about tools that fail
    [call] = (await alice.read(f"/threads/{request['thread_id']}/tool-calls"))["items"]
    assert call["toolName"] == "delete_page"


async def test_a_client_with_forms_asks_its_user(alice: User, model: FaultModel) -> None:
    model.script(calls_tools(("delete_page", {"page": "home"}), text="May I?"), answers("Then not."))
    visible: list[str] = []

    async def form(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        visible.append(params.message)
        return types.ElicitResult(action="decline")

    async with connect(alice, elicitation_callback=form) as client:
        after = read_structured(await client.call_tool("careful", {"message": "Delete it"}))
    assert (len(visible), after["state"], after["message"]) == (1, "completed", "Then not.")


@pytest.mark.nightly
async def test_a_call_that_is_given_up_stops_the_agent(line: str, alice: User, model: FaultModel) -> None:
    model.script(answers(" ".join(["word"] * 600), delay=0.05))
    answering = asyncio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        if message == "Assistant is answering.":
            answering.set()

    async with connect(alice, line) as client:
        call = asyncio.ensure_future(client.call_tool("assistant", {"message": "Go on"}, progress_callback=progress))
        await answering.wait()
        call.cancel()
        thread_id = await newest_thread(alice)
        await wait_for_end(alice, thread_id)
    answer = (await alice.messages(thread_id))[-1]
    assert answer["metadata"]["status"] == "cancelled"


async def test_two_tenants_do_not_see_each_others_conversations_and_agents(
    line: str, alice: User, new_user: NewUser
) -> None:
    own = {"name": "Tutor", "description": "Teaches.", "systemPrompt": "Teach.", "main": True, "mcp": True}
    author = new_user("author", "agent:write")
    created = await author.request("PUT", "/agents/tutor", body=own)
    assert created.status_code in (200, 201), created.text
    eve = new_user("alice", tenant="eves-own")
    async with connect(alice, line) as client:
        started = read_structured(await client.call_tool("assistant", {"message": "A secret"}))
        assert "tutor" in [tool.name for tool in (await client.list_tools()).tools]
    async with connect(eve, line) as client:
        assert "tutor" not in [tool.name for tool in (await client.list_tools()).tools]
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("tutor", {"message": "Hello"})
        refused = await client.call_tool("assistant", {"message": "Go on", "thread_id": started["thread_id"]})
        assert read_structured(refused)["code"] == "thread_unavailable"
    assert len(await alice.messages(started["thread_id"])) == 2


@pytest.mark.nightly
async def test_a_repeated_call_finds_the_answer_when_its_server_was_killed(
    line: str, alice: User, model: FaultModel, killable_streams: tuple[str, ForkedProcess]
) -> None:
    url, process = killable_streams
    model.script(answers(" ".join(["lost"] * 200), delay=0.1), answers("Found again."))
    meta: Any = {IDEMPOTENCY_KEY: "call-1"}

    async def kill(progress: float, total: float | None, message: str | None) -> None:
        if message == "Assistant is answering.":
            process.kill()

    with pytest.raises(Exception):  # noqa: B017, PT011 - the library has several for a broken stream
        async with asyncio.timeout(30), connect(alice, line, url) as client:
            await client.call_tool("assistant", {"message": "Tell me"}, progress_callback=kill, meta=meta)
    assert process.was_killed
    async with connect(alice, line) as client:
        again = read_structured(await client.call_tool("assistant", {"message": "Tell me"}, meta=meta))
    assert (again["message"], again["state"]) == ("Found again.", "completed")
    messages = await alice.messages(again["thread_id"])
    assert [message["content"] for message in messages if message["content"]] == ["Tell me", "Found again."]


@pytest.mark.nightly
async def test_a_cancellation_reaches_the_run_from_another_process(
    alice: User, model: FaultModel, killable_streams: tuple[str, ForkedProcess]
) -> None:
    url, _ = killable_streams
    model.script(answers(" ".join(["word"] * 600), delay=0.05))
    accept = {"Accept": "application/json, text/event-stream", **alice.headers}
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    params = {"name": "assistant", "arguments": {"message": "Go on"}, "_meta": {"progressToken": 1}}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    async with httpx2.AsyncClient(headers=accept, timeout=60, trust_env=False) as http:
        started = await http.post(f"{url}/mcp", json=initialize)
        http.headers["Mcp-Session-Id"] = started.headers["mcp-session-id"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        async with http.stream("POST", f"{url}/mcp", json=call) as stream:
            lines = stream.aiter_lines()
            async for text in lines:
                if "is answering" in text:
                    break
            taken = await http.post(f"{alice.cloud.url}/mcp", json=note)
            assert taken.status_code == 202
            last = [text async for text in lines if text.startswith("data: ")][-1]
    result = json.loads(last.removeprefix("data: "))["result"]
    assert result["structuredContent"]["state"] == "cancelled"
